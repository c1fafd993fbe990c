import { expect, it } from 'vitest'
import { MAX_SEARCHED } from '../../src/kernel/limits.ts'
import type { InstanceRow, RunRow, TermRow } from '../../src/model/rows.ts'
import { listedSearch } from '../../src/model/search/listed.ts'
import { parseInstanceSearch, parseRunSearch } from '../../src/model/search/parse.ts'
import type { Found } from '../../src/model/search/queries.ts'
import { termOf } from '../../src/model/search/terms.ts'
import { aLeasedRun, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { ids, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const HOUR = 3_600_000

export function searchTopic(current: Current): void {
  const page = { tenant: null, limit: 100, before: null }
  const instances = async (query: string, more: object = {}): Promise<Found<InstanceRow>> =>
    current().store.read.search.instances({ search: parseInstanceSearch(query), ...page, ...more })
  const runs = async (query: string, more: object = {}): Promise<Found<RunRow>> =>
    current().store.read.search.runs({ search: parseRunSearch(query), ...page, ...more })
  /** Names or types, the newest first. */
  const found = async (query: string, more: object = {}) => (await instances(query, more)).rows.map(({ name }) => name)
  const foundRuns = async (query: string, more: object = {}) => (await runs(query, more)).rows.map(({ type }) => type)
  const terms = (row: { readonly id: string; readonly tenant: string | null }, ...given: string[]): TermRow[] =>
    given.map((term) => ({ id: row.id, term, tenant: row.tenant }))
  const tagged = (row: InstanceRow, ...tags: string[]): TermRow[] =>
    terms(row, ...tags.map((tag) => termOf('instances', 'tag', tag)))

  it('finds instances by their columns', async () => {
    const { store } = current()
    await setClock(store, 0)
    const order = anInstance({
      name: 'order',
      dialect: 'ojs',
      state: 'failed',
      outcome: 'failed',
      createdAt: T0 - 3 * HOUR,
      endedAt: T0 - HOUR,
    })
    const orderEu = anInstance({
      name: 'order-eu',
      state: 'running',
      dialect: 'dag',
      gates: 1,
      paused: 'stop',
      createdAt: T0 - 60_000,
    })
    const mail = anInstance({
      name: 'mail',
      dialect: 'ojs',
      state: 'completed',
      outcome: 'success',
      createdAt: T0 - 2 * HOUR,
      endedAt: T0 - 2 * HOUR + 5,
    })
    const nested = anInstance({ name: 'nested', state: 'failed', rootId: mail.id, parentId: mail.id, parentNode: 'a' })
    await put(store, { instances: { insert: [order, orderEu, mail, nested] } })
    expect(await found('')).toEqual(['mail', 'order-eu', 'order'])
    expect(await found('nested:any')).toEqual(['nested', 'mail', 'order-eu', 'order'])
    expect(await found('nested:true state:failed')).toEqual(['nested'])
    expect(await found('state:failed')).toEqual(['order'])
    expect(await found('state:failed,running')).toEqual(['order-eu', 'order'])
    expect(await found('-state:failed')).toEqual(['mail', 'order-eu'])
    expect(await found('name:order')).toEqual(['order'])
    expect(await found('name:order*')).toEqual(['order-eu', 'order'])
    expect(await found('name:order*,mail -name:order')).toEqual(['mail', 'order-eu'])
    expect(await found('name:"order*"')).toEqual([])
    expect(await found('notation:dag')).toEqual(['order-eu'])
    expect(await found('outcome:failed')).toEqual(['order'])
    // A missing value is not the one named.
    expect(await found('-outcome:failed')).toEqual(['mail', 'order-eu'])
    expect(await found('has:gate')).toEqual(['order-eu'])
    expect(await found('-has:gate')).toEqual(['mail', 'order'])
    expect(await found('has:paused')).toEqual(['order-eu'])
    expect(await found('has:paused,held,gate -state:running')).toEqual([])
    expect(await found('age:>1h')).toEqual(['mail', 'order'])
    expect(await found('age:<1h')).toEqual(['order-eu'])
    expect(await found('took:>1h')).toEqual(['order'])
    expect(await found('took:<=1s')).toEqual(['mail'])
    expect(await found('ended:<90m')).toEqual(['order'])
    expect(await found('age:>1h state:completed')).toEqual(['mail'])
    await setClock(store, 2 * HOUR)
    expect(await found('age:<1h')).toEqual([])
    expect(await found('took:>1h')).toEqual(['order-eu', 'order'])
  })

  it('finds instances by terms, alone and with columns', async () => {
    const { store } = current()
    const a = anInstance({ name: 'a', state: 'failed' })
    const b = anInstance({ name: 'b', state: 'failed' })
    const c = anInstance({ name: 'c', state: 'completed' })
    await put(store, {
      instances: { insert: [a, b, c] },
      terms: [
        ...tagged(a, 'eu', 'vip'),
        ...tagged(b, 'us'),
        ...tagged(c, 'eu'),
        ...terms(a, termOf('instances', 'input.id', '117'), termOf('instances', 'error', 'card_declined')),
        ...terms(b, termOf('instances', 'meta.region', 'two words')),
      ],
    })
    expect(await found('tag:eu')).toEqual(['c', 'a'])
    expect(await found('tag:eu,us')).toEqual(['c', 'b', 'a'])
    expect(await found('tag:eu,vip')).toEqual(['c', 'a'])
    expect(await found('tag:eu,vip', { limit: 1 })).toEqual(['c'])
    expect(await found('tag:eu tag:vip')).toEqual(['a'])
    expect(await found('tag:eu -tag:vip')).toEqual(['c'])
    expect(await found('tag:eu state:failed')).toEqual(['a'])
    expect(await found('state:failed -tag:us')).toEqual(['a'])
    expect(await found('input.id:117')).toEqual(['a'])
    expect(await found('meta.region:"two words"')).toEqual(['b'])
    expect(await found('error:card_declined name:a*')).toEqual(['a'])
    expect(await found('tag:none')).toEqual([])
    // Writing a term again changes nothing.
    await put(store, { terms: tagged(a, 'eu') })
    expect(await found('tag:eu')).toEqual(['c', 'a'])
  })

  it('finds start keys, and only rows of the tenant', async () => {
    const { store } = current()
    const own = anInstance({ name: 'own', tenant: 'acme', startKey: '@acme/order-17', state: 'failed' })
    const other = anInstance({ name: 'other', tenant: 'other', state: 'failed' })
    const free = anInstance({ name: 'free', startKey: 'order-17', state: 'failed' })
    const rows = [own, other, free]
    await put(store, { instances: { insert: rows }, terms: rows.flatMap((row) => tagged(row, 'eu')) })
    for (const query of ['', 'state:failed', 'tag:eu', 'tag:eu state:failed', 'nested:any']) {
      expect(await found(query, { tenant: 'acme' })).toEqual(['own'])
      expect(await found(query, { tenant: '' })).toEqual(['free'])
      expect(await found(query)).toHaveLength(3)
    }
    expect(await found('key:order-17', { tenant: 'acme' })).toEqual(['own'])
    expect(await found('key:order-17')).toEqual(['free'])
    expect(await found('key:order-18,order-17')).toEqual(['free'])
  })

  it('finds runs of any origin, but no deleted ones', async () => {
    const { store } = current()
    await setClock(store, 0)
    const instance = anInstance()
    const mail = aRun({ type: 'mail.send.v1', queue: 'mail', inbox: true, createdAt: T0 - 2 * HOUR })
    const dead = aRun({
      type: 'charge',
      status: 'failed',
      attempt: 3,
      deadLetter: true,
      startedAt: T0 - 60_000,
      finishedAt: T0 - 30_000,
      settledAt: T0 - 30_000,
    })
    const leased = aLeasedRun({ type: 'mail.sort', sessionId: newId(), leasedBy: 'w1' })
    const step = aStep(instance, 'ship', { type: 'parcel' })
    const hidden = aRun({ type: 'hidden', deletedAt: T0 })
    await put(store, {
      instances: { insert: [instance] },
      runs: { insert: [mail, dead, leased, step, hidden] },
      terms: [
        ...terms(mail, termOf('runs', 'tag', 'eu')),
        ...terms(dead, termOf('runs', 'error', 'card_declined')),
        // It succeeded, or was redriven, after it had failed with this code.
        ...terms(mail, termOf('runs', 'error', 'card_declined')),
      ],
    })
    expect((await foundRuns('')).toSorted()).toEqual(['charge', 'mail.send.v1', 'mail.sort', 'parcel'])
    expect(await foundRuns('status:failed')).toEqual(['charge'])
    expect((await foundRuns('type:mail.*')).toSorted()).toEqual(['mail.send.v1', 'mail.sort'])
    expect(await foundRuns('status:pending type:mail.send.v1')).toEqual(['mail.send.v1'])
    expect(await foundRuns('status:pending type:mail.send.v1 queue:mail')).toEqual(['mail.send.v1'])
    expect(await foundRuns('queue:mail')).toEqual(['mail.send.v1'])
    expect(await foundRuns('inbox:true')).toEqual(['mail.send.v1'])
    expect(await foundRuns('dead:true')).toEqual(['charge'])
    expect(await foundRuns('dead:true attempt:>2')).toEqual(['charge'])
    expect(await foundRuns('attempt:>3')).toEqual([])
    expect(await foundRuns('status:leased worker:w*')).toEqual(['mail.sort'])
    expect(await foundRuns(`instance:${instance.id}`)).toEqual(['parcel'])
    expect(await foundRuns('node:ship role:work')).toEqual(['parcel'])
    expect(await foundRuns('tag:eu')).toEqual(['mail.send.v1'])
    expect(await foundRuns('error:card_declined')).toEqual(['charge'])
    expect(await foundRuns('age:>1h')).toEqual(['mail.send.v1'])
    expect(await foundRuns('took:>29s ended:<1m')).toEqual(['charge'])
  })

  it('pages continue after the last row, without gaps or repetition', async () => {
    const { store } = current()
    const rows = Array.from({ length: 25 }, (_, i) => anInstance({ state: i % 5 === 0 ? 'failed' : 'completed' }))
    const marks = rows.flatMap((row, i) => tagged(row, 'all', ...(i % 2 === 0 ? ['even'] : [])))
    await put(store, { instances: { insert: rows }, terms: marks })
    const newest = ids(rows).reverse()
    for (const query of ['', 'state:failed,completed', 'tag:all', 'tag:all,even', 'tag:all state:failed,completed']) {
      const seen: string[] = []
      for (let before: string | null = null, pages = 0; ; pages++) {
        const { rows, next, complete }: Found<InstanceRow> = await instances(query, { limit: 7, before })
        expect(complete).toBe(true)
        seen.push(...ids(rows))
        before = next
        if (next === null) break
        expect(pages).toBeLessThan(5)
      }
      expect(seen).toEqual(newest)
    }
    const failed = newest.filter((_, i) => (24 - i) % 5 === 0)
    expect(ids((await instances('state:failed')).rows)).toEqual(failed)
    expect(await instances('state:failed', { before: 'no id' })).toEqual({ rows: [], next: null, complete: true })
  })

  it('a page checks a bounded number of rows, and the next one continues: nothing is missed', async () => {
    const { store } = current()
    const needle = anInstance({ name: 'needle', state: 'completed' })
    const hay = Array.from({ length: MAX_SEARCHED + 5 }, () => anInstance({ name: 'hay', state: 'completed' }))
    await put(store, { instances: { insert: [needle] }, terms: tagged(needle, 'eu') })
    for (let i = 0; i < hay.length; i += 2_000) await put(store, { instances: { insert: hay.slice(i, i + 2_000) } })
    for (const query of ['name:needle', 'state:completed name:needle']) {
      const first = await instances(query)
      expect(first).toEqual({ rows: [], next: hay[5]?.id, complete: false })
      const second = await instances(query, { before: first.next })
      expect(ids(second.rows)).toEqual([needle.id])
      expect(second).toMatchObject({ next: null, complete: true })
    }
    // Two parts of the index share the rows that a page checks.
    const seen: string[] = []
    let before: string | null = null
    for (let pages = 0; pages < 3; pages++) {
      const found: Found<InstanceRow> = await instances('state:completed,failed -name:hay', { before })
      seen.push(...ids(found.rows))
      expect(found.complete).toBe(pages === 2)
      before = found.next
    }
    expect([seen, before]).toEqual([[needle.id], null])
    // The rarest condition drives the search.
    expect(await instances('state:completed tag:eu')).toMatchObject({ rows: [{ name: 'needle' }], complete: true })
    const count = (query: string) =>
      store.read.search.instanceCounts({ search: parseInstanceSearch(query), tenant: null })
    expect(await count('')).toEqual([{ state: 'completed', count: MAX_SEARCHED, more: true }])
    // A list of instances is a search: it checks no more.
    const none = { states: null, name: null, dialect: null, rootsOnly: true }
    const { read } = current().store
    for (const filter of [{ name: 'needle' }, { dialect: 'none' }, { createdBefore: 0 }, { retryOf: newId() }]) {
      const page = { search: listedSearch({ ...none, ...filter }), tenant: null, limit: 5, before: null }
      expect(await read.search.instances(page)).toMatchObject({ next: hay[5]?.id, complete: false })
    }
    const strangers = { search: listedSearch(none), tenant: 'nobody', limit: 5, before: null }
    expect(await read.search.instances(strangers)).toEqual({ rows: [], next: hay[5]?.id, complete: false })
    expect(await count('tag:eu')).toEqual([{ state: 'completed', count: 1, more: false }])
    expect(await count('state:failed')).toEqual([])
  })

  it('counts by state', async () => {
    const { store } = current()
    const rows = [
      anInstance({ state: 'failed', tenant: 'acme' }),
      anInstance({ state: 'failed', name: 'other' }),
      anInstance({ state: 'running' }),
    ]
    const some = [aRun(), aRun({ type: 'mail' }), aLeasedRun({ sessionId: newId(), type: 'mail' })]
    await put(store, {
      instances: { insert: rows },
      runs: { insert: some },
      terms: rows.flatMap((row) => tagged(row, 'eu', 'us')),
    })
    const count = async (query: string, tenant: string | null = null) =>
      Object.fromEntries(
        (await store.read.search.instanceCounts({ search: parseInstanceSearch(query), tenant })).map((c) => [
          c.state,
          c.count,
        ]),
      )
    expect(await count('')).toEqual({ failed: 2, running: 1 })
    expect(await count('', 'acme')).toEqual({ failed: 1 })
    expect(await count('name:other')).toEqual({ failed: 1 })
    expect(await count('state:failed')).toEqual({ failed: 2 })
    expect(await count('tag:eu,us')).toEqual({ failed: 2, running: 1 })
    expect(await count('tag:eu -state:failed')).toEqual({ running: 1 })
    const runs = await store.read.search.runCounts({ search: parseRunSearch('type:mail'), tenant: null })
    expect(runs).toEqual([
      { state: 'leased', count: 1, more: false },
      { state: 'pending', count: 1, more: false },
    ])
  })
}
