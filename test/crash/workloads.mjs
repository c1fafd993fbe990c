// @ts-check
/** The work of the processes of a crash test: a wave consists of one workflow of every kind. */

/** Every execution may be lost once and fail once: both are allowed for, with short delays. */
export const QUICK = {
  maxAttempts: 6,
  backoff: /** @type {const} */ ('constant'),
  initialMs: 5,
  coefficient: 1,
  maxMs: 5,
  jitter: 0,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
}

/** How each workflow of a wave must end. */
export const EXPECTED = /** @type {Readonly<Record<string, { state: string, result?: unknown }>>} */ ({
  chain1: { state: 'completed', result: 15 },
  chain2: { state: 'completed', result: 15 },
  chain3: { state: 'completed', result: 15 },
  group: { state: 'completed', result: Array.from({ length: 20 }, (_, i) => 2 * i) },
  batch: { state: 'completed', result: [0, 2, 4, 6, 8, null] },
  saga: { state: 'compensated' },
  dag: { state: 'completed', result: { s: 1, b: 11, c: 21, d: 31, e: 63, f: 64 } },
  cascade: { state: 'completed' },
  nested: { state: 'completed', result: 32 },
  outside: { state: 'completed', result: 8 },
  deferred: { state: 'completed', result: 8 },
  bare: { state: 'succeeded', result: 10 },
})

/** Added where the sweeper must act in its own process: work that times out, a session that expires. */
export const EXPECTED_SWEPT = /** @type {typeof EXPECTED} */ ({
  hang1: { state: 'completed', result: 3 },
  hang2: { state: 'completed', result: 3 },
  held1: { state: 'succeeded', result: 2 },
  held2: { state: 'succeeded', result: 4 },
})

/** The final steps and undos that each workflow must have created, and how many. */
export const EXPECTED_ROLES = /** @type {const} */ ({
  batch: { final: ['on_complete', 'on_failure'], undo: [] },
  cascade: { final: ['end'], undo: [] },
  saga: { final: [], undo: ['b', 'a'] },
})

/** @param {string} key @param {string} type @param {readonly string[]} to @param {object} [over] */
function node(key, type, to, over = {}) {
  return {
    key,
    work: runWork(type),
    join: /** @type {const} */ ('each'),
    admit: null,
    retry: QUICK,
    timeout: null,
    onFailure: /** @type {const} */ ('net'),
    undo: null,
    next: {
      mode: /** @type {const} */ ('every'),
      arcs: to.map((t) => ({ to: t, when: null, args: null, set: null })),
      scope: null,
    },
    ...over,
  }
}

/** @param {string} type */
function runWork(type) {
  return {
    kind: /** @type {const} */ ('run'),
    type,
    queue: 'default',
    priority: 100,
    delayMs: 0,
    args: null,
    limitKey: null,
  }
}

/** @param {string} name @param {object[]} nodes @param {object} [over] */
function net(name, nodes, over = {}) {
  return {
    version: 1,
    name,
    dialect: 'dag',
    nodes,
    entry: [/** @type {any} */ (nodes[0]).key],
    finals: [],
    onFailure: 'abort',
    verdict: { failedOn: 'any', partial: false },
    unknown: 'ignore',
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
    ...over,
  }
}

const undo = { work: runWork('undo'), retry: QUICK, timeout: null }

const SAGA = net(
  'saga',
  [
    node('a', 'echo', ['b'], { undo }),
    node('b', 'slow', ['c'], { undo }),
    node('c', 'refuse', [], { onFailure: 'compensate' }),
  ],
  { onFailure: 'compensate' },
)

const DAG = net('dag', [
  node('s', 'add', ['b', 'c', 'd']),
  node('b', 'add', ['e']),
  node('c', 'slow', ['e']),
  node('d', 'add', ['e']),
  node('e', 'sum', ['f'], { join: 'count' }),
  node('f', 'add', []),
])

/** Tokens double at every node: 2,047 moves, more than one transaction makes, so several transactions are needed. */
const LEVELS = 11
const CASCADE = net(
  'cascade',
  [
    ...Array.from({ length: LEVELS }, (_, i) => {
      const to = i + 1 < LEVELS ? [`p${i + 1}`, `p${i + 1}`] : []
      return node(`p${i}`, '', to, { work: { kind: 'pass' }, retry: null })
    }),
    node('end', 'note', []),
  ],
  { finals: [{ node: 'end', when: 'always', onFailure: 'fail' }] },
)

/**
 * The workflows of a wave by name: each a step of the SDK, the parameters of `engine.start`, or a bare run.
 * @param {typeof import('../../src/index.ts')} sdk @param {boolean} swept
 * @returns {Record<string, { step?: any, start?: any, run?: any }>}
 */
export function workloads({ chain, group, batch, job }, swept) {
  const retry = { retry: QUICK }
  const add = (/** @type {number} */ n, type = 'add') => job(type, { n }, retry)
  const five = () => ({ step: chain([add(1), add(2, 'flaky'), add(3, 'slow'), add(4), add(5)]) })
  const common = {
    chain1: five(),
    chain2: five(),
    chain3: five(),
    group: {
      step: group(Array.from({ length: 20 }, (_, n) => job(n % 7 === 0 ? 'flaky.echo' : 'echo', { n }, retry))),
    },
    batch: {
      step: batch([...Array.from({ length: 5 }, (_, n) => job('echo', { n }, retry)), job('refuse', { n: 5 }, retry)], {
        onComplete: job('note', { n: 1 }, retry),
        onSuccess: job('note', { n: 2 }, retry),
        onFailure: job('note', { n: 3 }, retry),
      }),
    },
    saga: { start: { net: SAGA, literals: literals({ a: 1, b: 2, c: 3 }) } },
    dag: { start: { net: DAG, literals: literals({ s: 1, b: 10, c: 20, d: 30, e: 0, f: 1 }) } },
    cascade: { start: { net: CASCADE, literals: literals({ end: 0 }) } },
    // 1 → [1 + 1 + 1, 1 + 10, [2 × 9]] → 3 + 11 + 18
    nested: {
      step: chain([
        add(1),
        group([
          chain([add(1), add(1, 'flaky')]),
          add(10, 'slow'),
          batch([job('echo', { n: 9 }, retry)], { onSuccess: job('note', { n: 4 }, retry) }),
        ]),
        job('total', null, retry),
      ]),
    },
    outside: { step: chain([add(1), job('outside', null, retry), add(1)]) },
    deferred: { step: chain([add(1), job('deferred', null, retry), add(1)]) },
    bare: { run: { type: 'flaky.echo', payload: { n: 5 }, retry: QUICK, maxAttempts: QUICK.maxAttempts } },
  }
  if (!swept) return common
  const hang = () => ({ step: chain([add(1), job('hang', { n: 1 }, { ...retry, timeoutMs: 40 }), add(1)]) })
  const held = (/** @type {number} */ n) => ({
    run: { type: 'held', payload: { n }, retry: QUICK, maxAttempts: QUICK.maxAttempts },
  })
  return { ...common, hang1: hang(), hang2: hang(), held1: held(1), held2: held(2) }
}

/** @param {Record<string, number>} byNode */
function literals(byNode) {
  return Object.fromEntries(Object.entries(byNode).map(([key, n]) => [key, { args: { n } }]))
}

/**
 * Handlers by type; each execution records its effect first.
 * @param {(ctx: any) => void} note @param {typeof import('../../src/index.ts')} sdk
 * @returns {Record<string, (args: any, ctx: any) => unknown>}
 */
export function handlers(note, { Terminal }) {
  const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const add = async (/** @type {any} */ { n }, /** @type {any} */ ctx) => Number((await ctx.previous()) ?? 0) + n
  /** @type {Record<string, (args: any, ctx: any) => unknown>} */
  const all = {
    add,
    echo: ({ n }) => 2 * n,
    held: ({ n }) => 2 * n,
    deferred: (_, ctx) => ctx.defer(),
    note: () => 'noted',
    undo: () => 'undone',
    refuse: () => {
      throw new Terminal('refused')
    },
    flaky: (args, ctx) => {
      if (ctx.attempt === 1) throw new Error('the first attempt fails')
      return add(args, ctx)
    },
    'flaky.echo': ({ n }, ctx) => {
      if (ctx.attempt === 1) throw new Error('the first attempt fails')
      return 2 * n
    },
    slow: async (args, ctx) => {
      await sleep(60)
      return add(args, ctx)
    },
    hang: async (args, ctx) => {
      if (ctx.attempt > 1) return add(args, ctx)
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      return 0
    },
    sum: async (_, ctx) => {
      const results = await ctx.results()
      return results.b + results.c + results.d
    },
    total: async (_, ctx) => {
      const list = /** @type {(number | number[])[]} */ (await ctx.previous())
      return list.flat().reduce((a, b) => a + b, 0)
    },
  }
  return Object.fromEntries(
    Object.entries(all).map(([type, handler]) => [
      type,
      (/** @type {any} */ args, /** @type {any} */ ctx) => {
        note(ctx)
        return handler(args, ctx)
      },
    ]),
  )
}
