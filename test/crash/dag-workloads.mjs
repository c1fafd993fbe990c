// @ts-check
/** DAG workflows that roll back: the specification's example with each of its steps failing, and a wide one. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const EXAMPLE = fileURLToPath(new URL('../../examples/onboarding.workflow.yaml', import.meta.url))
const SIDE_BY_SIDE = ['flight', 'hotel', 'car', 'insurance']
/** One loss, one flaky failure, and a margin. */
const QUICK = { maxRetries: 6, backoff: 'constant', initialDelay: '5ms', retryOn: ['transient', 'agent'] }
/** Four in parallel, which end in any order; then a step that fails. Its undos fail the first time. */
const WIDE = JSON.stringify({
  apiVersion: 'ioa.dev/v0.2',
  kind: 'Workflow',
  metadata: { name: 'wide' },
  spec: {
    timeout: '1h',
    failurePolicy: 'compensate',
    steps: [
      ...SIDE_BY_SIDE.map((name) => ({ name, uses: 'book', timeout: '5m', retryPolicy: QUICK })),
      { name: 'pay', uses: 'book', timeout: '5m', dependsOn: SIDE_BY_SIDE, readOnly: true, retryPolicy: QUICK },
    ],
    compensation: SIDE_BY_SIDE.map((step) => ({ step, uses: 'flaky.cancel', timeout: '5m', retryPolicy: QUICK })),
  },
})

const STEPS = ['create-account', 'provision-workspace', 'setup-analytics', 'send-welcome']
const rolledBack = { state: 'compensated' }
const completed = { state: 'completed' }

/** How each workflow of a wave must end. */
export const EXPECTED_ENDS = /** @type {Readonly<Record<string, { state: string }>>} */ ({
  all: completed,
  'create-account': rolledBack,
  'provision-workspace': rolledBack,
  'setup-analytics': rolledBack,
  'send-welcome': completed,
  wide: rolledBack,
})

/** What each must have undone, in this order; for the wide one the order is that of its completions. */
export const EXPECTED_UNDOS = /** @type {Readonly<Record<string, { final: string[], undo: string[] }>>} */ ({
  all: { final: [], undo: [] },
  'create-account': { final: [], undo: [] },
  'provision-workspace': { final: [], undo: ['create-account'] },
  'setup-analytics': { final: [], undo: ['provision-workspace', 'create-account'] },
  'send-welcome': { final: [], undo: [] },
})

/** @param {{ readDefinition: typeof import('../../src/operations/definitions/read.ts').readDefinition }} sdk */
export async function workloads({ readDefinition }) {
  const example = (await readDefinition(EXAMPLE, readFileSync(EXAMPLE, 'utf8'))).start
  const wide = (await readDefinition('wide.json', WIDE)).start
  const failing = (/** @type {string | null} */ name) => ({ start: { ...example, input: { failing: name } } })
  return {
    all: failing(null),
    ...Object.fromEntries(STEPS.map((name) => [name, failing(name)])),
    wide: { start: { ...wide, input: { failing: 'pay' } } },
  }
}

/**
 * One handler for all types; its arguments determine what it does. Each execution records its effect first.
 * @param {(ctx: any) => void} note @param {typeof import('../../src/index.ts')} sdk @param {(point: string) => void}
 * trap
 * @returns {Record<string, (args: any, ctx: any) => unknown>}
 */
export function handlers(note, { Terminal }, trap) {
  const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const work = async (/** @type {any} */ { input }, /** @type {any} */ ctx) => {
    note(ctx)
    // In parallel they end in a different order every time. Some undos last until their start has been stored.
    await sleep(ctx.role === 'undo' && Math.random() < 0.3 ? 80 : Math.random() * 10)
    if (ctx.role === 'undo') trap('in an undo')
    if (ctx.role === 'work' && ctx.node === input.failing) throw new Terminal('refused', { category: 'agent' })
    if (ctx.type === 'flaky.cancel' && ctx.attempt === 1) throw new Error('the first attempt fails')
    return { by: ctx.node }
  }
  const types = ['growth-optimizer', 'product-analyst', 'data-pipeline', 'book', 'flaky.cancel']
  return Object.fromEntries(types.map((type) => [type, work]))
}
