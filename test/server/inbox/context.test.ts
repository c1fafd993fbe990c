/** Steps of workflows executed over HTTP: their complete arguments, and what they write into the context. */
import { beforeAll, expect, it } from 'vitest'
import type { Json } from '../../../src/net/net.ts'
import { SLOT } from '../../../src/net/slots.ts'
import { net, node, run } from '../../engine/drive.ts'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('steps over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const claim = async (type: string): Promise<any> => {
    const reply = await s.post('/v1/runs/claim', { worker_id: 'w', types: [type] })
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
    return reply.body.runs[0]
  }
  const report = (of: any, verb: string, more: object = {}) =>
    s.post(`/v1/runs/${of.id}/${verb}`, { worker_id: 'w', epoch: of.epoch, ...more })
  const start = async (shape: ReturnType<typeof net>, input: Json = null): Promise<string> => {
    const [started] = await s.engine.start([{ net: shape, input }])
    return started?.id as string
  }
  const context = async (id: string): Promise<Record<string, Json>> => {
    const slots = await s.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })
    return Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), JSON.parse(value) as Json]))
  }

  it('come with the program of their node', async () => {
    await start(net([node('a', [], { work: run('program.a', { program: { tasks: [{ do: 'this' }] } }) })]))
    await start(net([node('a', [], { work: run('program.b') })]))
    expect((await claim('program.a')).program).toEqual({ tasks: [{ do: 'this' }] })
    expect((await claim('program.b')).program).toBeNull()
    const { id } = (await s.post('/v1/runs', { type: 'program.c.v1', payload: 1 })).body
    expect(await claim('program.c.v1')).toMatchObject({ id, program: null })
  })

  it('come with all of their arguments, wherever those are stored', async () => {
    const text = 'x'.repeat(5000)
    const args = { text: '{{ input.text }}' }
    const shape = net([node('a', [], { work: run('whole.a', { args }) })], { inlineBytes: 1024 })
    await start(shape, { text })
    const a = await claim('whole.a')
    expect(a.payload).toEqual({ text })
    // The table contains the reference, which plain SQL resolves.
    expect((await s.get(`/v1/runs/${a.id}`)).body.run.payload).toEqual({ $ref: expect.stringMatching(/^x:\d+$/) })
    await report(a, 'release')
    const fetched = await s.post('/ojs/v1/workers/fetch', { queues: ['default'], worker_id: 'ojs', count: 1 })
    expect(JSON.stringify(fetched.body.jobs[0].args)).toContain(text)
  })

  it('write into the context before the arcs are evaluated', async () => {
    const arc = (to: string, when: string | null) => ({ to, when, args: null, set: null })
    const next = { mode: 'first', scope: null, arcs: [arc('yes', 'ctx.go'), arc('no', null)] } as const
    const shape = net([
      node('a', [], { work: run('way.a'), next }),
      node('yes', [], { work: run('way.yes') }),
      node('no', [], { work: run('way.no') }),
    ])
    const id = await start(shape)
    const a = await claim('way.a')
    const put = await report(a, 'later', { delay_seconds: 0, set: { seen: 1 } })
    expect(put.status).toBe(200)
    expect(await context(id)).toEqual({ seen: 1 })
    const again = await claim('way.a')
    const done = await report(again, 'complete', { result: 1, set: { go: true, seen: null } })
    expect(done.body.run.status).toBe('succeeded')
    expect((await claim('way.%')).node).toBe('yes')
    expect(await context(id)).toEqual({ go: true })
  })

  it('write it when they fail for good, not when they are retried', async () => {
    const id = await start(net([node('a', [], { work: run('fails.a'), onFailure: 'skip' })]))
    const error = { message: 'no' }
    const a = await claim('fails.a')
    const again = await report(a, 'fail', { error: { ...error, details: { retry_delay_ms: 0 } }, set: { tried: 1 } })
    expect(again.body.run.status).toBe('pending')
    expect(await context(id)).toEqual({})
    await report(await claim('fails.a'), 'fail', { error, retryable: false, set: { tried: 2 } })
    expect(await context(id)).toEqual({ tried: 2 })
  })
})
