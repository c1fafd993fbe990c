/** Timelines, markings and pages of an instance over HTTP, and who executed. */
import { gunzipSync } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'
import { sums, wordsIn } from '../../../src/wire/pictures/columns.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, MISSING, work, workflow } from './stage.ts'

onBothStores('pictures of instances over HTTP', (stage) => {
  let s: Serving
  let shown: string
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
    await deploy(s, workflow('shown', { steps: ['pay', 'ask', 'ship'] }))
    shown = await start('shown')
    await work(s)
  })

  async function start(name: string): Promise<string> {
    const { body, status } = await s.post('/v1/instances', { workflow: name })
    expect([status, body.error]).toEqual([201, undefined])
    return body.instance.id
  }
  const rows = (body: any): readonly string[] =>
    wordsIn(body.rows.kind).map((kind, i) => `${kind} ${wordsIn(body.rows.node)[i]} ${wordsIn(body.rows.state)[i]}`)

  it('GET /timeline has a row per gate and run; segments cover each from its creation to its end', async () => {
    const { body } = await s.get(`/v1/instances/${shown}/timeline?ids=true`)
    expect(rows(body)).toEqual(['gate ask open', 'run pay succeeded'])
    expect(body.rows.ids[0]).toBe(body.gates[0].id)
    expect(body.gates[0]).toMatchObject({ row: 0, state: 'open', decided_by: null, votes: [] })
    const at = sums(body.segments.row, 0)
    const took = (row: number) =>
      body.segments.took.reduce((sum: number, ms: number, i: number) => (at[i] === row ? sum + ms : sum), 0)
    expect(took(1)).toBe(body.rows.took[1])
    expect(body.rows.took[0]).toBeNull()
    expect(wordsIn(body.segments.worker).filter((_, i) => at[i] === 1)).toContain('hand')
  })

  it('GET /timeline has pages, and the timeline of one step', async () => {
    const first = await s.get(`/v1/instances/${shown}/timeline?limit=1`)
    expect([rows(first.body), first.body.rows.ids]).toEqual([['gate ask open'], undefined])
    const second = await s.get(`/v1/instances/${shown}/timeline?limit=1&after=${first.body.next_after}`)
    expect([rows(second.body), second.body.next_after]).toEqual([['run pay succeeded'], null])
    expect(rows((await s.get(`/v1/instances/${shown}/timeline?node=pay`)).body)).toEqual(['run pay succeeded'])
  })

  it('what waits has the reasons that /why gives', async () => {
    await deploy(s, workflow('idle', { steps: ['pay'] }))
    const id = await start('idle')
    const { waiting } = (await s.get(`/v1/instances/${id}/timeline`)).body
    const { waits } = (await s.get(`/v1/instances/${id}/why`)).body
    expect(waiting).toEqual([{ row: 0, reasons: waits[0].reasons }])
    await s.post(`/v1/instances/${id}/cancel`)
  })

  it('GET /marking has the state of each node, and then what has changed', async () => {
    const id = await start('shown')
    const { body } = await s.get(`/v1/instances/${id}/marking`)
    expect([body.nodes, wordsIn(body.state)]).toEqual([
      ['pay', 'ask', 'ship'],
      ['pending', 'pending', 'pending'],
    ])
    expect([body.total, body.next_from, body.has_more, body.lists.node]).toEqual([3, null, false, []])
    await work(s)
    const changes = (await s.get(`/v1/instances/${id}/marking?after=${body.seq}`)).body
    expect(wordsIn(changes.state).map((state, i) => [changes.nodes[i], state])).toEqual([
      ['pay', 'completed'],
      ['ask', 'running'],
    ])
    expect((await s.get(`/v1/instances/${id}/marking?after=${changes.seq}`)).body.nodes).toEqual([])
    const page = (await s.get(`/v1/instances/${id}/marking?limit=2`)).body
    expect([page.nodes, page.next_from]).toEqual([['pay', 'ask'], 'ask'])
    expect((await s.get(`/v1/instances/${id}/marking?from=ask`)).body.nodes).toEqual(['ship'])
  })

  it('a long picture is compressed for a caller that accepts it', async () => {
    const steps = Array.from({ length: 100 }, (_, i) => `step${i}`)
    await deploy(s, workflow('long', { steps }))
    const path = `${s.server.url}/v1/instances/${await start('long')}/marking`
    const plain = await fetch(path, { headers: { 'accept-encoding': 'identity' } })
    expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([null, 'accept-encoding'])
    const { get } = await import('node:http')
    const packed = await new Promise<{ readonly encoding: unknown; readonly bytes: Buffer }>((resolve, reject) => {
      get(path, { headers: { 'accept-encoding': 'gzip' } }, (reply) => {
        const chunks: Buffer[] = []
        reply.on('data', (chunk: Buffer) => chunks.push(chunk))
        reply.on('end', () => resolve({ encoding: reply.headers['content-encoding'], bytes: Buffer.concat(chunks) }))
      }).on('error', reject)
    })
    expect(packed.encoding).toBe('gzip')
    const text = await plain.text()
    expect(JSON.parse(gunzipSync(packed.bytes).toString()).nodes).toEqual(JSON.parse(text).nodes)
    expect(packed.bytes.length).toBeLessThan(text.length / 2)
    await s.post(path.slice(s.server.url.length).replace('marking', 'cancel'))
  })

  it('GET /v1/instances/:id has pages of runs and children', async () => {
    await deploy(s, workflow('paged', { steps: ['pay', 'ship'] }))
    const id = await start('paged')
    await work(s)
    const whole = (await s.get(`/v1/instances/${id}`)).body
    expect([whole.runs.map((run: any) => run.node), whole.next_after]).toEqual([['pay', 'ship'], null])
    const first = (await s.get(`/v1/instances/${id}?limit=1`)).body
    const second = (await s.get(`/v1/instances/${id}?limit=1&after=${first.next_after}`)).body
    expect([first, second].map(({ runs }) => runs.map((run: any) => run.node))).toEqual([['pay'], ['ship']])
    expect(second.next_after).toBeNull()
  })

  it('events and steps name the worker that executed, and who decided a gate', async () => {
    const [gate] = (await s.get(`/v1/instances/${shown}`)).body.gates
    const ann = await key(s, 'ann', ['admin'])
    expect((await s.post(`/v1/gates/${gate.id}/approve`, {}, ann)).status).toBe(200)
    const { events } = (await s.get(`/v1/instances/${shown}/events`)).body
    const at = (type: string, node: string) => events.find((event: any) => event.type === type && event.node === node)
    expect(at('succeeded', 'pay').worker).toBe('hand')
    expect(at('gate.approved', 'ask')).toMatchObject({ actor: 'ann', worker: null })
    const { steps } = (await s.get(`/v1/instances/${shown}/steps`)).body
    expect(steps.map(({ worker, decided_by }: any) => [worker, decided_by])).toEqual([
      ['hand', null],
      [null, 'ann'],
      [null, null],
    ])
  })

  it('wrong parameters are refused with what would be right; other tenants see nothing', async () => {
    for (const [path, message] of [
      [`/v1/instances/${shown}/timeline?after=x`, 'the next_after of a page'],
      [`/v1/instances/${shown}/timeline?limit=0`, 'limit'],
      [`/v1/instances/${shown}/timeline?ids=yes`, 'ids'],
      [`/v1/instances/${shown}/marking?after=-1`, 'after'],
      [`/v1/instances/${shown}?after=x`, 'the next_after of a page'],
      [`/v1/instances/${shown}?limit=1001`, 'limit'],
    ] as const) {
      const { status, body } = await s.get(path)
      expect([path, status, body.error.message.includes(message)]).toEqual([path, 400, true])
    }
    for (const path of ['timeline?node=nope', 'marking?from=nope']) {
      const { status, body } = await s.get(`/v1/instances/${shown}/${path}`)
      expect([status, body.error.message]).toEqual([404, 'there is no step nope'])
    }
    const other = await key(s, 'bob', ['admin'], 'other')
    for (const path of ['timeline', 'marking']) {
      expect((await s.get(`/v1/instances/${shown}/${path}`, other)).status).toBe(404)
      expect((await s.get(`/v1/instances/${MISSING}/${path}`)).status).toBe(404)
      const worker = await key(s, 'wim', ['work'])
      expect((await s.get(`/v1/instances/${shown}/${path}`, worker)).status).toBe(403)
    }
  })
})
