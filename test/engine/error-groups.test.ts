/** Failures for good are grouped by their cause, exactly counted, and found by the group. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ErrorGroupRow } from '../../src/model/errors/groups.ts'
import { parseInstanceSearch, parseRunSearch } from '../../src/model/search/parse.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

describe.each(PLACES)('groups of failures on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(() => d.close())

  const groups = async (): Promise<readonly ErrorGroupRow[]> =>
    (await d.engine.errorGroups.list({ tenant: null, states: null, text: null, limit: 100, before: null })).rows
  const one = async (): Promise<ErrorGroupRow> => {
    const [group, ...others] = await groups()
    if (group === undefined || others.length > 0) throw new Error(`${others.length + 1} groups`)
    return group
  }
  const flow = (name: string) => net([node('pay', [], { retry: ONCE })], { name })
  const failOne = async (error: { code?: string; message?: string } = {}): Promise<string> => {
    const delivery = await d.claimOne()
    await d.fail(delivery, error)
    return delivery.runId
  }

  it('the same failure of many instances is one group, whatever numbers its message contains', async () => {
    const ids: string[] = []
    for (const [i, name] of ['order', 'order', 'refund'].entries()) {
      ids.push(await d.start({ net: flow(name) }))
      await failOne({ code: 'declined', message: `order ${i} was declined` })
    }
    const group = await one()
    expect(group).toMatchObject({
      state: 'open',
      type: 'pay',
      code: 'declined',
      node: 'pay',
      message: 'order # was declined',
      lastMessage: 'order 2 was declined',
      count: 3,
      definitions: ['refund', 'order'],
      workers: ['driver'],
      lastInstanceId: ids[2],
    })
    const query = { tenant: null, limit: 100, before: null }
    const q = `group:${group.fingerprint}`
    const found = await d.store.read.search.instances({ search: parseInstanceSearch(q), ...query })
    expect(found.rows.map(({ id }) => id)).toEqual(ids.toReversed())
    const runs = await d.store.read.search.runs({ search: parseRunSearch(`${q} status:failed`), ...query })
    expect(runs.rows).toHaveLength(3)
    expect(runs.rows[0]?.id).toBe(group.lastRunId)
  })

  it('other causes are other groups, and tenants have their own', async () => {
    for (const tenant of ['acme', 'other', undefined]) {
      await d.start({ net: flow('order'), ...(tenant === undefined ? {} : { tenant }) })
      await failOne()
    }
    await d.start({ net: flow('order') })
    await failOne({ message: 'something else' })
    expect((await groups()).map(({ tenant, count }) => [tenant, count])).toHaveLength(4)
    expect(new Set((await groups()).map(({ tenant }) => tenant))).toEqual(new Set(['acme', 'other', null]))
  })

  it('attempts that are retried are not counted; the last one is, and dead letters are', async () => {
    await d.start({ net: net([node('pay', [], { retry: { ...ONCE, maxAttempts: 2 } })]) })
    await failOne()
    expect(await groups()).toEqual([])
    await failOne()
    expect((await one()).count).toBe(1)
    await d.engine.enqueue([{ type: 'mail', payload: {}, retry: { ...ONCE, deadLetter: true } }])
    const dead = await failOne({ message: 'it bounced' })
    expect((await groups())[0]).toMatchObject({ type: 'mail', lastRunId: dead, node: null, definitions: [] })
    // Redriven, it fails again.
    await d.engine.redrive({ runId: dead, actor: null })
    await failOne({ message: 'it bounced' })
    expect((await groups())[0]).toMatchObject({ type: 'mail', count: 2 })
  })

  it('a resolved group opens again as regressed, an ignored one when it has recurred often enough', async () => {
    const fail = async (): Promise<void> => {
      await d.pass(60_000)
      await d.start({ net: flow('order') })
      await failOne()
    }
    await fail()
    const { fingerprint } = await one()
    const change = (to: Parameters<typeof d.engine.errorGroups.change>[0]['change']) =>
      d.engine.errorGroups.change({ fingerprint, tenant: null, change: to })
    await change({ to: 'resolved', actor: 'ada', reason: 'v2' })
    expect(await one()).toMatchObject({ state: 'resolved', stateBy: 'ada' })
    await fail()
    expect(await one()).toMatchObject({ state: 'open', regressed: true, count: 2 })
    await change({ to: 'ignored', actor: 'ada', reason: null, times: 2, forMs: null })
    await fail()
    expect(await one()).toMatchObject({ state: 'ignored', count: 3 })
    await fail()
    expect(await one()).toMatchObject({ state: 'open', regressed: false, count: 4 })
  })

  it('an instance is found by its first hundred failures, and each of its runs by its own', async () => {
    const work = {
      kind: 'each',
      items: 'input.xs',
      body: run('item', { args: { at: '{{ item }}' } }),
      maxInFlight: null,
      failFast: false,
      tolerant: true,
    } as const
    const xs = Array.from({ length: 120 }, (_, i) => i)
    const id = await d.start({ net: net([node('list', [], { work, retry: ONCE })]), input: { xs } })
    await d.work(({ item }) => new Error(`code-${item}`))
    const query = { tenant: null, limit: 200, before: null }
    const found = async (q: string) =>
      (await d.store.read.search.instances({ search: parseInstanceSearch(q), ...query })).rows.map((row) => row.id)
    expect(await found('error:code-0')).toEqual([id])
    expect(await found('error:code-99')).toEqual([id])
    expect(await found('error:code-119')).toEqual([])
    const runs = await d.store.read.search.runs({ search: parseRunSearch('error:code-119'), ...query })
    expect(runs.rows).toHaveLength(1)
  })

  it('the sweeper counts without being asked', async () => {
    await d.start({ net: flow('order') })
    await failOne()
    await d.engine.sweep()
    const { rows } = await d.store.errorGroups.list({ tenant: null, states: null, text: null, limit: 1, before: null })
    expect(rows).toMatchObject([{ count: 1 }])
  })

  it('work that succeeds or is cancelled records no failure', async () => {
    await d.start({ net: flow('order') })
    await d.work()
    const id = await d.start({ net: flow('order') })
    await d.engine.cancelInstance({ id, actor: null })
    expect(await groups()).toEqual([])
  })
})
