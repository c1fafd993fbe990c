import fc from 'fast-check'
import { expect, it } from 'vitest'
import { typeMatcher } from '../../src/kernel/type-filters.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { Candidates, ClaimFilter } from '../../src/model/transaction.ts'
import type { Store } from '../../src/store/store.ts'
import { aRun, T0 } from './rows.ts'
import { load, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const NONE_FULL = { skipQueues: [], skipLimitKeys: [] }
const ANY: ClaimFilter = { queues: null, types: null, tenant: null, runtime: null }

async function claimable(store: Store, filter: Partial<Candidates> = {}, limit = 100): Promise<string[]> {
  const loaded = await load(store, { candidates: { ...ANY, ...NONE_FULL, ...filter, limit } })
  return loaded.candidates.map((run) => run.type)
}

async function mostUrgent(store: Store, ...filters: Partial<ClaimFilter>[]): Promise<readonly (number | null)[]> {
  return (await load(store, { urgency: filters.map((filter) => ({ ...ANY, ...filter })) })).urgency
}

/** Runs that differ in their type. */
async function enqueue(store: Store, ...runs: (Partial<RunRow> & { readonly type: string })[]): Promise<void> {
  await put(store, { runs: { insert: runs.map((run) => aRun({ runAt: T0 - 1_000, ...run })) } })
}

export function claimTopic(current: Current): void {
  it('also loads the priority of the next claim for a transaction', async () => {
    const { store } = current()
    await enqueue(store, { type: 'a', priority: 30 }, { type: 'b', priority: 20 })
    const filters = [ANY, { ...ANY, types: ['a'] }, { ...ANY, types: ['none'] }]
    expect((await load(store, { nextUrgency: filters })).nextUrgency).toEqual([20, 30, null])
  })

  it('orders by priority, then run_at, then age, across queues and types', async () => {
    const { store } = current()
    await enqueue(
      store,
      { type: 'late', runAt: T0 - 10 },
      { type: 'early', runAt: T0 - 20, queue: 'other' },
      { type: 'urgent', priority: 1, runAt: T0 - 5, queue: 'other' },
      { type: 'lazy', priority: 200, runAt: T0 - 999 },
      { type: 'negative', priority: -1, runAt: T0 - 5 },
    )
    expect(await claimable(store)).toEqual(['negative', 'urgent', 'early', 'late', 'lazy'])
    expect(await claimable(store, {}, 3)).toEqual(['negative', 'urgent', 'early'])
  })

  it('is first in, first out within one run_at', async () => {
    const { store } = current()
    const runs = Array.from({ length: 20 }, () => aRun())
    await put(store, { runs: { insert: runs.toReversed() } })
    const loaded = await load(store, { candidates: { ...ANY, ...NONE_FULL, limit: 12 } })
    expect(loaded.candidates.map((run) => run.id)).toEqual(runs.slice(0, 12).map((run) => run.id))
  })

  it('returns complete rows', async () => {
    const { store } = current()
    const run = aRun({ meta: '{}', limitKey: 'a' })
    await put(store, { runs: { insert: [run] } })
    expect((await load(store, { candidates: { ...ANY, ...NONE_FULL, limit: 1 } })).candidates).toEqual([run])
  })

  it('skips future runs until they are due', async () => {
    const { store } = current()
    await enqueue(store, { type: 'later', runAt: T0 + 60_000, priority: 1 }, { type: 'now', priority: 50 })
    expect(await claimable(store)).toEqual(['now'])
    expect(await mostUrgent(store, {})).toEqual([50])
    await setClock(store, 61_000)
    expect(await claimable(store)).toEqual(['later', 'now'])
    expect(await mostUrgent(store, {})).toEqual([1])
  })

  it('takes only pending, undeleted, unexpired runs', async () => {
    const { store } = current()
    await enqueue(
      store,
      { type: 'leased', status: 'leased', leasedBy: 'w' },
      { type: 'done', status: 'succeeded', settledAt: T0 },
      { type: 'deleted', deletedAt: T0 },
      { type: 'expired', expiresAt: T0 - 1 },
      { type: 'fresh', expiresAt: T0 + 60_000, priority: 101 },
    )
    expect(await claimable(store)).toEqual(['fresh'])
    expect(await mostUrgent(store, {})).toEqual([101])
  })

  it('matches exact types and prefixes; every other character is literal', async () => {
    const { store } = current()
    const types = ['a.b', 'a.b.c', 'aXb', 'a_b', 'a%b', 'a%c', 'a%', 'a\\b', 'ab', 'b', '100%.x', 'ünï.x', 'ünï.y', 'a']
    await enqueue(store, ...types.map((type, index) => ({ type, runAt: T0 - 1_000 + index })))
    expect(await claimable(store, { types: ['a.b'] })).toEqual(['a.b'])
    expect(await claimable(store, { types: ['a.%'] })).toEqual(['a.b', 'a.b.c'])
    expect(await claimable(store, { types: ['a_%'] })).toEqual(['a_b'])
    expect(await claimable(store, { types: ['a\\_%'] })).toEqual(['a_b'])
    expect(await claimable(store, { types: ['a\\%%'] })).toEqual(['a%b', 'a%c', 'a%'])
    expect(await claimable(store, { types: ['a\\%'] })).toEqual(['a%'])
    expect(await claimable(store, { types: ['a\\\\%'] })).toEqual(['a\\b'])
    expect(await claimable(store, { types: ['a_b', 'a\\b'] })).toEqual(['a_b', 'a\\b'])
    expect(await claimable(store, { types: ['100\\%.%'] })).toEqual(['100%.x'])
    expect(await claimable(store, { types: ['ünï.%'] })).toEqual(['ünï.x', 'ünï.y'])
    expect(await claimable(store, { types: ['%'] })).toEqual(types)
    expect(await claimable(store, { types: ['a%', 'a.%', 'a.b', 'b'] })).toEqual(
      types.filter((type) => /^[ab]/.test(type)),
    )
    expect(await claimable(store, { types: ['c', 'c%', 'A.%'] })).toEqual([])
    expect(await claimable(store, { types: [] })).toEqual([])
  })

  it('a prefix ends at its last byte, in any script and up to the last code point', async () => {
    const { store } = current()
    const last = '\u{10FFFF}'
    const types = [
      'å.1',
      'å',
      'a\u030a.1',
      'z',
      `p${last}${last}.1`,
      `p${last}.2`,
      'p.3',
      'p\uFFFD',
      'q',
      '\u{1F426}.x',
      '\uE000.y',
    ]
    await enqueue(store, ...types.map((type, index) => ({ type, runAt: T0 - 1_000 + index })))
    for (const prefix of ['å', 'p', `p${last}`, '\u{1F426}', '\uE000', 'a', '']) {
      const wanted = types.filter((type) => type.startsWith(prefix))
      expect(await claimable(store, { types: [`${prefix}%`] }), prefix).toEqual(wanted)
      expect(await claimable(store, { types: [`${prefix}%`], queues: ['default'] }), prefix).toEqual(wanted)
    }
  })

  it('takes exactly the types that the filters match', async () => {
    const { store } = current()
    const name = fc.string({
      unit: fc.constantFrom('a', 'b', '.', '_', '%', '\\', 'ü', '\u{1F426}'),
      minLength: 1,
      maxLength: 4,
    })
    const types = [...new Set(fc.sample(name, { numRuns: 300, seed: 7 }))]
    await enqueue(store, ...types.map((type, index) => ({ type, runAt: T0 - 1_000 + index })))
    const escaped = name.map((text) => text.replace(/[%_\\]/g, '\\$&'))
    const filter = fc.oneof(
      escaped.map((text) => `${text}%`),
      escaped.filter((text) => text.includes('%')),
      name.filter((text) => !text.includes('%')),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(filter, { maxLength: 4 }), async (filters) => {
        expect(await claimable(store, { types: filters }, 1_000)).toEqual(types.filter(typeMatcher(filters)))
      }),
      { numRuns: 100 },
    )
  })

  it('takes from its queues only', async () => {
    const { store } = current()
    await enqueue(
      store,
      { type: 'a', queue: 'q1' },
      { type: 'b', queue: 'q2' },
      { type: 'c', queue: 'q_', priority: 7 },
    )
    expect(await claimable(store, { queues: ['q2'] })).toEqual(['b'])
    expect((await claimable(store, { queues: ['q2', 'q1', 'q2'] })).sort()).toEqual(['a', 'b'])
    expect(await claimable(store, { queues: ['q'] })).toEqual([])
    expect(await mostUrgent(store, { queues: ['q1'] }, {}, { queues: ['none'] })).toEqual([100, 7, null])
  })

  it('skips a paused queue, however many runs are pending in it', async () => {
    const { store } = current()
    await enqueue(store, ...Array.from({ length: 50 }, () => ({ type: 'stuck', queue: 'paused', priority: 1 })), {
      type: 'a',
    })
    await put(store, {
      queues: [
        { name: 'paused', paused: true },
        { name: 'default', paused: false },
      ],
    })
    expect(await claimable(store, {}, 10)).toEqual(['a'])
    expect(await claimable(store, { queues: ['paused'] }, 10)).toEqual([])
    expect(await mostUrgent(store, {}, { queues: ['paused'] })).toEqual([100, null])
  })

  it('skips full queues and limit keys', async () => {
    const { store } = current()
    await enqueue(
      store,
      ...Array.from({ length: 30 }, () => ({ type: 'stripe', limitKey: 'stripe', priority: 1 })),
      { type: 'stripe', limitKey: 'other', priority: 2 },
      { type: 'free', priority: 3 },
      { type: 'busy', queue: 'busy', priority: 4 },
    )
    expect(await claimable(store, { skipLimitKeys: ['stripe', 'x'] }, 10)).toEqual(['stripe', 'free', 'busy'])
    expect(await claimable(store, { skipLimitKeys: ['stripe', 'other'], skipQueues: ['busy'] }, 10)).toEqual(['free'])
    expect(await claimable(store, { queues: ['busy'], skipQueues: ['busy'] }, 10)).toEqual([])
  })

  it('shows a tenant only its own; without a tenant, all', async () => {
    const { store } = current()
    await enqueue(
      store,
      { type: 'mine', tenant: 'acme', priority: 5 },
      { type: 'theirs', tenant: 'other', priority: 1 },
      { type: 'nobody', priority: 2 },
    )
    expect(await claimable(store, { tenant: 'acme' })).toEqual(['mine'])
    expect(await claimable(store)).toEqual(['theirs', 'nobody', 'mine'])
    expect(await mostUrgent(store, { tenant: 'acme' }, { tenant: 'none' })).toEqual([5, null])
  })

  it('obeys the registry: disabled types never, registered ones only for their runtime, the others for all', async () => {
    const { store, sql } = current()
    await enqueue(
      store,
      { type: 'free' },
      { type: 'go' },
      { type: 'node' },
      { type: 'off', priority: 1 },
      { type: 'gone' },
    )
    await sql(`INSERT INTO workflow_registry (workflow_name, runtime, is_enabled) VALUES
      ('go', 'go', TRUE), ('node', 'node', TRUE), ('off', 'node', FALSE), ('gone', 'go', FALSE)`)
    await sql(`UPDATE workflow_registry SET deleted_at = created_at WHERE workflow_name = 'gone'`)
    expect((await claimable(store, { runtime: 'node' })).sort()).toEqual(['free', 'gone', 'node'])
    expect((await claimable(store, { runtime: 'go' })).sort()).toEqual(['free', 'go', 'gone'])
    expect((await claimable(store)).sort()).toEqual(['free', 'gone'])
    expect(await claimable(store, { types: ['off'] })).toEqual([])
    expect(await mostUrgent(store, { runtime: 'node' }, { types: ['off'] })).toEqual([100, null])
  })

  it('claims what a plain INSERT enqueued', async () => {
    const { store, sql } = current()
    await store.moveClock(0)
    await sql(
      `INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('mail.send.v1', '{"to":"b"}', 'raw-1')`,
    )
    const filter = { ...NONE_FULL, queues: ['default'], types: ['mail.%'], tenant: null, runtime: 'node', limit: 5 }
    const [run] = (await load(store, { candidates: filter })).candidates
    expect(run).toMatchObject({
      type: 'mail.send.v1',
      status: 'pending',
      idempotencyKey: 'raw-1',
      queue: 'default',
      role: 'work',
      item: -1,
      fire: 0,
      scope: '',
      epoch: 0,
      attempt: 0,
      maxAttempts: 3,
      priority: 100,
      instanceId: null,
      deferred: false,
      unknown: false,
      deadLetter: false,
      deliveries: 0,
      timeoutPer: 'attempt',
    })
    expect(run!.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(JSON.parse(run!.payload)).toEqual({ to: 'b' })
  })

  it('costs no more with thousands of future and foreign runs', async () => {
    const { store } = current()
    const crowd = Array.from({ length: 3_000 }, (_, index) =>
      index % 2 ? aRun({ type: 'mail.send', runAt: T0 + 9_000_000 + index }) : aRun({ type: 'other.job', priority: 1 }),
    )
    await put(store, { runs: { insert: crowd } })
    await enqueue(store, { type: 'mail.send', priority: 150 })
    expect(await claimable(store, { types: ['mail.%'] }, 10)).toEqual(['mail.send'])
    expect(await mostUrgent(store, { types: ['mail.%'] })).toEqual([150])
  })
}
