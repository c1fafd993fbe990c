import { expect, it } from 'vitest'
import { type InboxQuery, parseInboxCursor } from '../../src/model/inbox.ts'
import type { RunRow } from '../../src/model/rows.ts'
import { aLeasedRun, aRun, newId, T0 } from './rows.ts'
import { ids, put } from './subject.ts'
import type { Current } from './suite.ts'

const ALL: InboxQuery = {
  type: null,
  status: null,
  idempotencyKey: null,
  queue: null,
  deleted: false,
  tenant: null,
  limit: 100,
  before: null,
}

export function inboxTopic(current: Current): void {
  const inbox = (given: Partial<RunRow> = {}): RunRow => aRun({ inbox: true, type: 'a.b.v1', ...given })
  const list = async (query: Partial<InboxQuery> = {}): Promise<string[]> =>
    ids((await current().store.read.listInbox({ ...ALL, ...query })).runs)

  it('lists only inbox runs, newest first, and at equal times by descending id', async () => {
    const { store } = current()
    const [x, y, z] = [inbox(), inbox(), inbox({ createdAt: T0 - 5000 })]
    await put(store, { runs: { insert: [z, x, aRun(), y] } })
    expect(await list()).toEqual([...[x.id, y.id].sort().reverse(), z.id])
  })

  it('pages by a cursor that is stable under new rows and equal times', async () => {
    const { store } = current()
    const runs = Array.from({ length: 5 }, () => inbox())
    await put(store, { runs: { insert: runs } })
    const seen: string[] = []
    let next: string | null = null
    do {
      const before: InboxQuery['before'] = next === null ? null : parseInboxCursor(next)
      const page = await store.read.listInbox({ ...ALL, limit: 2, before })
      seen.push(...ids(page.runs))
      await put(store, { runs: { insert: [inbox({ createdAt: T0 + 1000 + seen.length })] } })
      next = page.next
    } while (next !== null)
    expect(seen).toEqual(ids(runs).sort().reverse())
  })

  it('lists runs inserted by plain SQL, exact to the microsecond if the store is', async () => {
    const { store, sql } = current()
    for (const n of [1, 2, 3]) {
      await sql(`INSERT INTO workflow_run (type, payload) VALUES ('raw.sql.v${n}', '{}')`)
    }
    const seen: string[] = []
    let next: string | null = null
    do {
      const before: InboxQuery['before'] = next === null ? null : parseInboxCursor(next)
      const page = await store.read.listInbox({ ...ALL, limit: 1, before })
      seen.push(...page.runs.map((run) => run.type))
      next = page.next
    } while (next !== null)
    expect(seen.sort()).toEqual(['raw.sql.v1', 'raw.sql.v2', 'raw.sql.v3'])
  })

  it('filters by type, prefix, status, key, queue, tenant and deletion', async () => {
    const { store } = current()
    const plain = inbox({ idempotencyKey: 'k', queue: 'q', tenant: 't' })
    const under = inbox({ type: 'a_b.v1', status: 'failed', finishedAt: T0, settledAt: T0 })
    const percent = inbox({ type: '100%.v1' })
    const gone = inbox({ deletedAt: T0 })
    await put(store, { runs: { insert: [plain, under, percent, gone] } })
    expect(await list({ type: { exact: 'a.b.v1' } })).toEqual([plain.id])
    expect(await list({ type: { prefix: 'a_' } })).toEqual([under.id])
    expect(await list({ type: { prefix: '100%' } })).toEqual([percent.id])
    expect(await list({ type: { prefix: 'A' } })).toEqual([])
    expect(await list({ type: { prefix: '' } })).toHaveLength(3)
    expect(await list({ status: ['failed', 'cancelled'] })).toEqual([under.id])
    expect(await list({ idempotencyKey: 'k' })).toEqual([plain.id])
    expect(await list({ queue: 'q' })).toEqual([plain.id])
    expect(await list({ tenant: 't' })).toEqual([plain.id])
    expect(await list({ deleted: true })).toEqual([gone.id])
    expect(await list({ deleted: null })).toHaveLength(4)
  })

  it('a malformed cursor gives null', () => {
    expect(parseInboxCursor(`${T0 * 1000}-${newId()}`)).toMatchObject({ createdUs: T0 * 1000 })
    for (const text of [
      '',
      '1',
      newId(),
      `-1-${newId()}`,
      `1.5-${newId()}`,
      `99999999999999999-${newId()}`,
      `1-${newId()} `,
    ]) {
      expect([text, parseInboxCursor(text)]).toEqual([text, null])
    }
  })

  it('counts pending and held runs by type, for all kinds of holders', async () => {
    const { store } = current()
    await put(store, {
      runs: {
        insert: [
          inbox(),
          inbox({ queue: 'other' }),
          inbox({ deletedAt: T0 }),
          inbox({ status: 'succeeded', finishedAt: T0, settledAt: T0 }),
          aLeasedRun({ type: 'a.b.v1', sessionId: newId() }),
          inbox({ status: 'leased', leasedBy: 'w', leaseUntil: T0 + 1000, leaseMs: 1000 }),
          inbox({ type: 'c.v1', status: 'leased', deferred: true }),
        ],
      },
    })
    const depths = await store.read.typeDepths()
    expect([...depths].sort((a, b) => (a.type + a.status < b.type + b.status ? -1 : 1))).toEqual([
      { type: 'a.b.v1', status: 'leased', count: 2 },
      { type: 'a.b.v1', status: 'pending', count: 2 },
      { type: 'c.v1', status: 'leased', count: 1 },
    ])
  })
}
