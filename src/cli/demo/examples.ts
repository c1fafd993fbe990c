/**
 * Deploys and starts the examples of `petrel dev`, once per store: something that runs, waits for a person, waits for a
 * service, has failed in two ways, is undone, and starts by the clock.
 */
import { sleep } from '../../kernel/sleep.ts'
import type { Json } from '../../net/net.ts'
import { orderBulkOperation } from '../../operations/bulk/orders.ts'
import { operator } from '../../operations/caller.ts'
import { deployDefinition } from '../../operations/definitions/definitions.ts'
import { startDefinition } from '../../operations/instances/change.ts'
import { Operations, type Perform } from '../../operations/operation.ts'
import { enqueueRuns, submitRun } from '../../operations/runs/enqueue.ts'
import type { Context } from '../../worker/context.ts'
import { Terminal } from '../../worker/errors.ts'
import type { Handler, Handlers } from '../../worker/handlers.ts'
import type { Service } from '../process/service.ts'
import { EXAMPLES } from './definitions.ts'

const ACTOR = 'petrel dev'
const FAILURES = 12
const NEWSLETTERS = 30
const NEWSLETTERS_PER_MINUTE = 20
const MONTH_MS = 30 * 86_400_000
/** A start under it is made once. */
const key = (name: string): string => `petrel-dev:${name}`

/** Playbooks and sagas are executed by handlers that the process may not have: they wait for them. */
export async function startExamples({ engine }: Pick<Service, 'engine'>): Promise<void> {
  const perform = new Operations({ engine, logger: null }).for(operator(ACTOR))
  for (const { file, text } of EXAMPLES) await perform(deployDefinition, { file, text })
  await start(perform, 'demo-expense', 'ann', { amount: 340, purpose: 'A conference' })
  await start(perform, 'demo-expense', 'bob', { amount: 12, purpose: 'Books' })
  await start(perform, 'demo-onboarding', 'acme', { customer: 'ACME' })
  await start(perform, 'demo-pages', 'pages', {})
  await start(perform, 'demo-party', 'party', { party: 'ACME', email: 'ann@example.org' })
  await start(perform, 'demo-article', 'article', {})
  const charges = Array.from({ length: FAILURES }, (_, i) => ({
    type: i % 3 === 0 ? 'demo.ledger' : 'demo.charge',
    payload: [{ order: 100 + i }],
    queue: 'payments',
    maxAttempts: 1,
    tags: ['demo'],
    idempotencyKey: key(`charge ${i}`),
  }))
  await perform(enqueueRuns, { runs: charges })
  await withdrawNewsletters(perform)
  // No handler takes it: the page of workers names its type.
  await perform(submitRun, {
    type: 'demo.translate.v1',
    payload: { text: 'a run of the inbox', to: 'fr' },
    queue: 'inbox',
    inbox: true,
    idempotencyKey: key('translate'),
  })
}

/** A bulk operation: newsletters of next month are withdrawn, slowly enough to be seen. */
async function withdrawNewsletters(perform: Perform): Promise<void> {
  const runs = Array.from({ length: NEWSLETTERS }, (_, i) => ({
    type: 'demo.newsletter',
    payload: [{ reader: i }],
    queue: 'newsletters',
    runAt: Date.now() + MONTH_MS,
    tags: ['demo'],
    idempotencyKey: key(`newsletter ${i}`),
  }))
  const { made } = await perform(enqueueRuns, { runs })
  if (!made.some(({ created }) => created)) return
  await perform(orderBulkOperation, {
    action: 'cancel',
    target: 'runs',
    query: 'type:demo.newsletter',
    rate: NEWSLETTERS_PER_MINUTE,
    reason: 'the newsletter has been withdrawn',
    confirm: null,
  })
}

async function start(perform: Perform, name: string, of: string, input: Json): Promise<void> {
  await perform(startDefinition, { name, version: null, input, startKey: key(`${name} ${of}`) })
}

/** An undo that can be watched. */
const UNDO_MS = 20_000
const STEP_MS = 400

export function addExampleHandlers(handlers: Handlers): Handlers {
  const add = (type: string, handler: (args: never, ctx: Context) => unknown): void =>
    handlers.add(type, handler as unknown as Handler)
  const soon = (result: Json) => async (_: unknown, ctx: Context) => {
    await sleep(STEP_MS, ctx.signal)
    return result
  }
  add('demo.check', soon({ within_budget: true }))
  add('demo.pay', soon({ paid: true }))
  add('demo.account', soon({ account: 'a_17' }))
  add('demo.workspace', soon({ workspace: 'w_4' }))
  add('demo.analytics', () => {
    throw new Terminal('the tracking service has no free tenant', { code: 'quota_exceeded' })
  })
  add('demo.undo', async (_, ctx) => {
    ctx.log.info('undoing slowly, so that it can be watched')
    await sleep(UNDO_MS, ctx.signal)
  })
  add('demo.draft', soon({ draft: 'd_1' }))
  add('demo.render', soon({ rendered: true }))
  add('demo.report', soon({ reported: true }))
  add('demo.collect', soon({ articles: 3 }))
  add('demo.send', soon({ sent: true }))
  add('demo.charge', ([{ order }]: readonly [{ readonly order: number }], ctx) => {
    ctx.log.info('charging', { order })
    throw new Terminal(`the card for order ${order} was declined`, { code: 'card_declined' })
  })
  add('demo.ledger', ([{ order }]: readonly [{ readonly order: number }]) => {
    throw new Error(`row ${order} of the ledger is locked by process ${4000 + order}`)
  })
  return handlers
}
