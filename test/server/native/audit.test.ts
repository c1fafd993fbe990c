/** GET /v1/audit: what people have done, of all kinds of things, and what a caller of a tenant sees of it. */
import { beforeAll, expect, it } from 'vitest'
import { checkReply } from '../documented.ts'
import { keyOf } from '../keys.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { workflow, YAML } from './stage.ts'

onBothStores('the audit', (stage) => {
  let s: Serving
  let ann: Record<string, string>
  beforeAll(async () => {
    s = await stage.serve()
    ann = await keyOf(s, 'ann', null, ['admin', 'enqueue', 'read'])
  })
  const audit = async (query = '', headers = ann) =>
    checkReply('GET', '/v1/audit', await s.get(`/v1/audit${query}`, headers)).body
  const types = (body: any) => body.entries.map(({ type }: any) => type)

  it('is empty, and starts and runs of programs do not fill it', async () => {
    expect(await audit()).toEqual({ entries: [], next_before: null })
    await s.post('/v1/runs', { type: 'a.v1', payload: {} }, ann)
    const { id, epoch } = (
      await s.post('/v1/runs/claim', { worker_id: 'w', types: ['a.v1'] }, await keyOf(s, 'w', null, ['work']))
    ).body.runs[0]
    await s.post(`/v1/runs/${id}/complete`, { worker_id: 'w', epoch, result: 1 }, await keyOf(s, 'w', null, ['work']))
    expect(types(await audit())).toEqual([])
  })

  it('has what was done to definitions, instances, runs and queues, newest first', async () => {
    await s.post('/v1/definitions', workflow('review', { steps: ['ask'] }), { ...YAML, ...ann })
    const { id } = (await s.post('/v1/instances', { workflow: 'review' }, ann)).body
    await s.post(`/v1/instances/${id}/pause`, { reason: 'look first' }, ann)
    await s.post(`/v1/instances/${id}/resume`, undefined, ann)
    await s.post(`/v1/instances/${id}/cancel`, undefined, ann)
    const bob = await keyOf(s, 'bob', null, ['admin', 'enqueue'])
    await s.post('/ojs/v1/queues/mail/pause', undefined, bob)
    const run = (await s.post('/v1/runs', { type: 'b.v1', payload: {} }, bob)).body.id
    await s.post(`/v1/runs/${run}/cancel`, undefined, bob)
    const body = await audit()
    const done = body.entries.map(({ actor, type }: any) => `${actor} ${type}`)
    expect(done.slice(0, 2)).toEqual(['bob cancelled', 'bob queue.paused'])
    for (const one of [
      'ann workflow.deployed',
      'ann instance.paused',
      'ann instance.unpaused',
      'ann instance.cancel_requested',
    ]) {
      expect(done).toContain(one)
    }
    expect(done.some((one: string) => one.includes('created'))).toBe(false)
    expect(body.entries.find(({ type }: any) => type === 'queue.paused')).toMatchObject({
      data: { queue: 'mail' },
      instance_id: null,
    })
    expect(body.entries.find(({ type }: any) => type === 'instance.cancel_requested')).toMatchObject({
      instance_id: id,
    })
    expect(body.next_before).toBeNull()
  })

  it('is read page by page, and of one actor', async () => {
    const all = (await audit()).entries
    const paged: any[] = []
    for (let before: number | null = null, pages = 0; pages < 100; pages++) {
      const page: any = await audit(`?limit=2${before === null ? '' : `&before=${before}`}`)
      paged.push(...page.entries)
      before = page.next_before
      if (before === null) break
    }
    expect(paged).toEqual(all)
    const ofBob = (await audit('?actor=bob')).entries
    expect(ofBob).toEqual(all.filter(({ actor }: any) => actor === 'bob'))
    expect((await audit('?actor=none')).entries).toEqual([])
    expect((await s.get('/v1/audit?before=x', ann)).status).toBe(400)
    expect((await s.get('/v1/audit', await keyOf(s, 'reader', null, ['read']))).status).toBe(403)
  })

  it('of a tenant is what was done to its own', async () => {
    const acme = await keyOf(s, 'eve', 'acme', ['admin', 'enqueue'])
    const run = (await s.post('/v1/runs', { type: 'b.v1', payload: {} }, acme)).body.id
    await s.post(`/v1/runs/${run}/cancel`, undefined, acme)
    const body = await audit('', acme)
    expect(body.entries.map(({ actor, type, tenant }: any) => [actor, type, tenant])).toEqual([
      ['eve', 'cancelled', 'acme'],
    ])
    expect(body.next_before).toBeNull()
    expect((await audit('?actor=bob', acme)).entries).toEqual([])
    expect((await audit('?limit=1')).entries[0]).toMatchObject({ actor: 'eve', tenant: 'acme' })
  })
})
