/** Instances over HTTP: lists with filters, and one with its history and its net. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, MISSING, requests, work, workflow } from './stage.ts'

onBothStores('instances over HTTP', (stage) => {
  let s: Serving
  const { start, look } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false }, maxBodyBytes: 200_000 })
    await deploy(s, workflow('order', { version: '1.0' }))
    await deploy(s, workflow('order', { version: '2.0', steps: ['pay'] }))
  })
  // Work left over by one test would be taken by the next.
  beforeEach(() => work(s))

  describe('GET /v1/instances', () => {
    it('filters by start key, retry and time', async () => {
      const first = await start({ start_key: 'list:1' })
      await work(s, { 'order.pay': new Error('broken') })
      const { created_at } = (await look(first)).instance
      const retried = (await s.post(`/v1/instances/${first}/retry`)).body.id
      const ids = async (query: string) => (await s.get(`/v1/instances?${query}`)).body.instances.map((i: any) => i.id)
      expect(await ids('start_key=list:1')).toEqual([first])
      expect(await ids('start_key=list:2')).toEqual([])
      expect(await ids(`retry_of=${first}`)).toEqual([retried])
      const later = await ids(`created_after=${created_at}`)
      expect(later).toEqual(expect.arrayContaining([first, retried]))
      const earlier = await ids(`created_before=${created_at}&limit=200`)
      expect(earlier.filter((id: string) => later.includes(id))).toEqual([])
      expect(await ids('created_after=2999-01-01T00:00:00Z')).toEqual([])
      expect(await ids('created_before=2001-01-01T00:00:00%2B01:00')).toEqual([])
      expect((await ids('name=order&state=failed&dialect=dag&all=true')).includes(first)).toBe(true)
    })

    it.each([
      ['state=nope', 'state'],
      ['retry_of=x', 'retry_of'],
      ['created_after=yesterday', 'created_after'],
      ['created_before=2024-02-30T00:00:00Z', 'created_before'],
      ['created_before=+PT5M', 'created_before'],
      ['all=perhaps', 'all'],
      ['start_key=%00', 'start_key'],
      ['name=a%00', 'name'],
      ['limit=201', 'limit'],
      ['before=x', 'before'],
      ['nme=x', 'nme'],
    ])('%s: 400', async (query, parameter) => {
      const { status, body } = await s.get(`/v1/instances?${query}`)
      expect([status, body.error.code, body.error.details.parameter]).toEqual([400, 'invalid_request', parameter])
    })
  })

  describe('GET /v1/instances/:id', () => {
    it('includes its history and its net on request', async () => {
      const id = await start()
      const { body } = await s.get(`/v1/instances/${id}/events?limit=1`)
      expect(body).toMatchObject({ events: [{ seq: 1, type: 'instance.created' }], has_more: true })
      const net = await s.get(`/v1/instances/${id}/net`)
      expect(net.body.hash).toBe((await look(id)).instance.net)
      expect(net.body.net.nodes.map((n: any) => n.key)).toContain('pay')
    })

    it.each(['', '/events', '/net'])('%s of an unknown instance: 404', async (path) => {
      for (const id of [MISSING, 'x', 'a%00b']) {
        const { status, body } = await s.get(`/v1/instances/${id}${path}`)
        expect([status, body.error.code, body.error.details.resource_type]).toEqual([404, 'not_found', 'instance'])
      }
    })
  })
})
