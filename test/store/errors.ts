import { expect, it } from 'vitest'
import type { ErrorGroupQuery, FailureRow, GroupChange } from '../../src/model/errors/groups.ts'
import { aWorker, newId, T0 } from './rows.ts'
import { put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const MINUTE = 60_000

export function errorTopic(current: Current): void {
  const failure = (fingerprint: string, given: Partial<FailureRow> = {}): FailureRow => ({
    id: newId(),
    fingerprint,
    tenant: null,
    type: 'card.charge',
    code: 'declined',
    message: 'order 17 was declined',
    node: 'pay',
    definition: 'order',
    worker: 'w1',
    holder: null,
    build: null,
    runId: newId(),
    instanceId: newId(),
    at: T0,
    ...given,
  })
  const page: ErrorGroupQuery = { tenant: null, states: null, text: null, limit: 100, before: null }
  const list = async (query: Partial<ErrorGroupQuery> = {}) =>
    (await current().store.errorGroups.list({ ...page, ...query })).rows.map(({ fingerprint }) => fingerprint)
  const count = (limit = 1_000) => current().store.errorGroups.count({ limit, wait: true })
  const get = (fingerprint: string, tenant: string | null = null) =>
    current().store.errorGroups.get({ fingerprint, tenant })
  const change = (fingerprint: string, change: GroupChange, tenant: string | null = null) =>
    current().store.errorGroups.change({ fingerprint, tenant, change })
  const BY = { actor: 'ada', reason: null }

  it('counts each failure once, in portions, into one group per cause', async () => {
    const { store } = current()
    const last = failure('aa', { at: T0 + 5, worker: null, instanceId: null, definition: null, node: null })
    await put(store, { failures: [failure('aa'), failure('bb'), failure('aa', { definition: 'refund' }), last] })
    expect(await count(3)).toBe(3)
    expect(await count(3)).toBe(1)
    expect(await count(3)).toBe(0)
    expect(await get('aa')).toEqual({
      fingerprint: 'aa',
      tenant: null,
      state: 'open',
      regressed: false,
      type: 'card.charge',
      code: 'declined',
      node: 'pay',
      message: 'order # was declined',
      count: 3,
      firstAt: T0,
      lastAt: T0 + 5,
      definitions: expect.arrayContaining(['refund', 'order']),
      workers: ['w1'],
      builds: [],
      lastMessage: 'order 17 was declined',
      lastRunId: last.runId,
      lastInstanceId: null,
      stateAt: T0,
      stateBy: null,
      reason: null,
      ignoredCount: null,
      ignoredUntil: null,
      changes: '[]',
    })
    expect((await get('bb'))?.count).toBe(1)
    expect(await get('cc')).toBeNull()
  })

  it('names the builds: as reported, or that of the worker that held the run; the last ones first, at most twenty', async () => {
    const { store } = current()
    const worker = aWorker({ id: 'w9', build: '1.9' })
    await store.sweep.beat({ worker, ttlMs: 60_000 })
    await store.sweep.beatLease({ worker: aWorker({ id: 'l1', holds: 'lease', build: '2.0' }), ttlMs: 60_000 })
    await put(store, {
      failures: [
        failure('aa', { holder: 'w9' }),
        failure('aa', { holder: 'l1', at: T0 + 1 }),
        failure('aa', { holder: 'w9', build: '2.1', at: T0 + 2 }),
        failure('aa', { holder: 'unknown', at: T0 + 3 }),
      ],
    })
    await count()
    expect((await get('aa'))?.builds).toEqual(['2.1', '2.0', '1.9'])
    expect((await store.read.workers()).map(({ id, build }) => [id, build])).toEqual([
      ['l1', '2.0'],
      ['w9', '1.9'],
    ])
    await put(store, {
      failures: Array.from({ length: 30 }, (_, i) => failure('aa', { build: `3.${i}`, at: T0 + 10 + i })),
    })
    await count()
    const builds = (await get('aa'))?.builds ?? []
    expect([builds.length, builds[0], builds.at(-1)]).toEqual([20, '3.29', '3.10'])
  })

  it('two processes count at the same time, and none counts twice', async () => {
    const { store, second } = current()
    const other = await second()
    for (let i = 0; i < 10; i++) {
      await put(store, { failures: Array.from({ length: 20 }, (_, n) => failure(`f${n % 3}`)) })
      await Promise.all([store, other].map(({ errorGroups }) => errorGroups.count({ limit: 7, wait: i % 2 === 0 })))
    }
    while ((await count(50)) > 0);
    const groups = (await store.errorGroups.list(page)).rows
    expect(groups.map((group) => group.count).reduce((a, b) => a + b)).toBe(200)
    expect(groups).toHaveLength(3)
  })

  it('lists the most recent failure first, by page, state and text, and only those of a tenant', async () => {
    const { store } = current()
    const rows = [
      failure('a1', { at: T0 + 1, tenant: 'acme' }),
      failure('a2', { at: T0 + 2, code: 'Timeout', definition: 'refund' }),
      failure('a3', { at: T0 + 3, type: 'mail.send', message: 'no such 100% host' }),
      failure('a4', { at: T0 + 3, node: null, definition: null }),
    ]
    await put(store, { failures: rows })
    await count()
    expect(await list()).toEqual(['a4', 'a3', 'a2', 'a1'])
    expect(await list({ tenant: 'acme' })).toEqual(['a1'])
    expect(await list({ tenant: '' })).toEqual(['a4', 'a3', 'a2'])
    expect(await list({ text: 'timeout' })).toEqual(['a2'])
    expect(await list({ text: 'REFUND' })).toEqual(['a2'])
    expect(await list({ text: 'mail.' })).toEqual(['a3'])
    expect(await list({ text: '#% host' })).toEqual(['a3'])
    await change('a2', { to: 'resolved', ...BY })
    expect(await list({ states: ['resolved'] })).toEqual(['a2'])
    expect(await list({ states: ['open', 'ignored'] })).toEqual(['a4', 'a3', 'a1'])
    const first = await store.errorGroups.list({ ...page, limit: 1 })
    expect(first.rows.map((row) => row.fingerprint)).toEqual(['a4'])
    expect(await list({ limit: 2, before: first.next })).toEqual(['a3', 'a2'])
    expect(await list({ before: { lastAt: T0 + 1, fingerprint: 'a1' } })).toEqual([])
    expect(await get('a1', 'other')).toBeNull()
    expect(await get('a1', '')).toBeNull()
    expect(await get('a1', 'acme')).toMatchObject({ tenant: 'acme' })
    expect(await change('a1', { to: 'resolved', ...BY }, 'other')).toBeNull()
    expect((await get('a1'))?.state).toBe('open')
  })

  it('the state changes at the store’s time, and failures change it back', async () => {
    const { store } = current()
    await setClock(store, 0)
    await put(store, { failures: [failure('aa', { at: T0 - MINUTE }), failure('bb', { at: T0 - MINUTE })] })
    await count()
    const resolved = await change('aa', { to: 'resolved', actor: 'ada', reason: 'fixed' })
    expect(resolved).toMatchObject({ state: 'resolved', stateBy: 'ada', reason: 'fixed' })
    expect(Math.abs((resolved?.stateAt ?? 0) - T0)).toBeLessThan(30_000)
    expect(await get('aa')).toEqual(resolved)
    await put(store, { failures: [failure('aa', { at: T0 + MINUTE })] })
    await count()
    expect(await get('aa')).toMatchObject({ state: 'open', regressed: true, stateAt: T0 + MINUTE, stateBy: null })
    const ignored = await change('bb', { to: 'ignored', times: null, forMs: 2 * MINUTE, ...BY })
    expect(ignored?.ignoredUntil).toBe((ignored?.stateAt ?? 0) + 2 * MINUTE)
    expect(await change('bb', { to: 'ignored', times: 2, forMs: null, ...BY })).toMatchObject({ ignoredCount: 3 })
    expect(await change('cc', { to: 'open', ...BY })).toBeNull()
  })

  it('retention removes groups without a failure since the cut', async () => {
    const { store } = current()
    await put(store, { failures: [failure('old', { at: T0 - MINUTE }), failure('new', { at: T0 + MINUTE })] })
    await count()
    await store.sweep.prune({ endedBefore: T0, eventsBefore: 0, limit: 100 })
    expect(await list()).toEqual(['new'])
  })
}
