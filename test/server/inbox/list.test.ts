/** GET /v1/runs: newest first, page by page, through filters. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('lists of runs', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const submit = async (type: string, more: object = {}): Promise<string> =>
    (await s.post('/v1/runs', { type, payload: {}, ...more })).body.id
  const list = async (query: string) => (await s.get(`/v1/runs?${query}`)).body
  const ids = (page: any): string[] => page.runs.map((run: any) => run.id)

  it('pages list each of them once, also those created at the same moment', async () => {
    // One transaction, one time: the id decides between equal times.
    const made = await s.engine.enqueue(
      Array.from({ length: 7 }, () => ({ type: 'page.a.v1', payload: {}, inbox: true })),
    )
    const seen: string[] = []
    let before: string | null = null
    for (let pages = 0; pages < 10; pages++) {
      const page: any = await list(`type=page.a.v1&limit=3${before === null ? '' : `&before=${before}`}`)
      seen.push(...ids(page))
      before = page.next_before
      if (before === null) break
    }
    expect(seen).toEqual(
      made
        .map((one) => one.id)
        .sort()
        .reverse(),
    )
  })

  it('runs created in the meantime do not move the pages', async () => {
    for (let i = 0; i < 4; i++) await submit('steady.a.v1')
    const all = ids(await list('type=steady.a.v1'))
    const first = await list('type=steady.a.v1&limit=2')
    await submit('steady.a.v1')
    const second = await list(`type=steady.a.v1&limit=2&before=${first.next_before}`)
    expect([...ids(first), ...ids(second)]).toEqual(all)
    expect(second.next_before).toBeNull()
  })

  it('filters by type, prefix, status, key and queue, and by all of them together', async () => {
    const invoice = await submit('filter.invoice.v1', { idempotency_key: 'f:1', queue: 'f' })
    const refund = await submit('filter.refund.v1', { queue: 'f' })
    const under = await submit('filter_x.v1')
    await s.post(`/v1/runs/${refund}/cancel`)
    expect(ids(await list('type=filter.invoice.v1'))).toEqual([invoice])
    expect(ids(await list('type=filter.%25')).sort()).toEqual([invoice, refund].sort())
    // An underscore is literal: filter_% does not match filter.invoice.v1.
    expect(ids(await list('type=filter_%25'))).toEqual([under])
    expect(ids(await list('type=filter.%25&status=cancelled'))).toEqual([refund])
    expect(ids(await list('type=filter.%25&status=pending,cancelled')).sort()).toEqual([invoice, refund].sort())
    expect(ids(await list('idempotency_key=f:1'))).toEqual([invoice])
    expect(ids(await list('queue=f&status=pending'))).toEqual([invoice])
    expect(ids(await list('queue=f&status=pending&idempotency_key=f:1&type=filter.%25'))).toEqual([invoice])
    expect(ids(await list('idempotency_key=nobody'))).toEqual([])
  })

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=x', 'limit'],
    ['status=active', 'status'],
    ['type=a%25b', 'type'],
    ['before=nonsense', 'before'],
    ['before=01900000-0000-7000-8000-000000000000', 'before'],
    ['before=99999999999999999-01900000-0000-7000-8000-000000000000', 'before'],
    ['deleted=maybe', 'deleted'],
    ['queue=%00', 'queue'],
    ['idempotency_key=%00', 'idempotency_key'],
    ['order=asc', 'order'],
    ['limit=1&limit=2', 'limit'],
  ])('?%s is refused, and %s is named', async (query, parameter) => {
    const { status, body } = await s.get(`/v1/runs?${query}`)
    expect([status, body.error.code, body.error.details.parameter]).toEqual([400, 'invalid_request', parameter])
    expect(body.error.message).toContain(parameter)
  })
})
