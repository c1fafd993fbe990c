/** Logs over HTTP: written by the worker that holds the run, read and followed. */
import { beforeAll, expect, it } from 'vitest'
import { logLine } from '../../../src/kernel/log-lines.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, MISSING, work, workflow } from './stage.ts'

onBothStores('logs over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
    await deploy(s, workflow('logged', { steps: ['pay', 'ship'] }))
  })

  interface Claimed {
    readonly id: string
    readonly epoch: number
    readonly instance_id: string
  }
  async function claimed(): Promise<Claimed> {
    await work(s)
    await s.post('/v1/instances', { workflow: 'logged' })
    const { body } = await s.post('/v1/runs/claim', { worker_id: 'w1', types: ['logged.pay'] })
    return body.runs[0]
  }
  const write = ({ id, epoch }: Claimed, lines: unknown, more: object = {}) =>
    s.post(`/v1/runs/${id}/log`, { worker_id: 'w1', epoch, lines, ...more })

  it('the holder writes lines, which are read by run and by instance', async () => {
    const run = await claimed()
    const first = await write(run, [
      { text: 'charging', fields: { amount: 20 }, at: '2030-01-31T09:00:00Z' },
      { text: 'slow', level: 'warn' },
    ])
    expect([first.status, first.body]).toEqual([200, { stored: 2 }])
    await write(run, [{ text: 'printed', stream: 'stdout' }])
    const { body } = await s.get(`/v1/runs/${run.id}/log`)
    expect(body.lines.map(({ number, level, stream, text }: any) => [number, level, stream, text])).toEqual([
      [0, 'info', null, 'charging'],
      [1, 'warn', null, 'slow'],
      [2, 'info', 'stdout', 'printed'],
    ])
    expect(body.lines[0]).toMatchObject({
      run_id: run.id,
      node: 'pay',
      item: null,
      attempt: 1,
      at: '2030-01-31T09:00:00.000Z',
      fields: { amount: 20 },
    })
    expect([body.has_more, (await s.get(`/v1/runs/${run.id}/log?after=${body.next_after}`)).body.lines]).toEqual([
      false,
      [],
    ])
    expect((await s.get(`/v1/runs/${run.id}/log?attempt=2`)).body.lines).toEqual([])
    expect((await s.get(`/v1/instances/${run.instance_id}/log`)).body.lines).toEqual(body.lines)
  })

  it('a long text is cut, and many lines become several parts', async () => {
    const run = await claimed()
    const lines = Array.from({ length: 500 }, (_, i) => ({ text: `${i} ${'x'.repeat(i === 0 ? 20_000 : 100)}` }))
    expect((await write(run, lines)).body).toEqual({ stored: 500 })
    const { body } = await s.get(`/v1/runs/${run.id}/log`)
    expect(body.lines.map(({ number }: any) => number)).toEqual(lines.map((_, i) => i))
    expect(body.lines[0].text).toBe(logLine({ at: 0, level: 'info', text: lines[0]?.text as string }).m)
  })

  it('a stream sends what is there and what follows, and ends with the run', async () => {
    const run = await claimed()
    await write(run, [{ text: 'one' }])
    const stream = await fetch(`${s.server.url}/v1/runs/${run.id}/log`, { headers: { accept: 'text/event-stream' } })
    const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as never).getReader()
    let text = ''
    const until = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(text)) {
        const { value, done } = (await reader.read()) as { value?: string; done: boolean }
        if (done) throw new Error(`the stream ended: ${text}`)
        text += value
      }
    }
    await until(/event: lines\ndata: .*"one"/)
    await write(run, [{ text: 'two' }])
    await until(/"two"/)
    await s.post(`/v1/runs/${run.id}/complete`, { worker_id: 'w1', epoch: run.epoch, result: null })
    await until(/event: end\n/)
    await reader.cancel()
    expect(text.match(/"one"/g)).toHaveLength(1)
  })

  it('any other caller is refused, and writes nothing', async () => {
    const run = await claimed()
    const wrong = await write(run, [{ text: 'x' }], { worker_id: 'w2' })
    expect([wrong.status, wrong.body.error.code]).toEqual([409, 'conflict'])
    expect((await write({ ...run, epoch: run.epoch + 1 }, [{ text: 'x' }])).status).toBe(409)
    for (const lines of [
      [],
      [{}],
      [{ text: 'x', level: 'loud' }],
      Array.from({ length: 501 }, () => ({ text: 'x' })),
    ]) {
      expect((await write(run, lines)).status).toBe(400)
    }
    const reader = await key(s, 'rita', ['read'])
    expect(
      (await s.post(`/v1/runs/${run.id}/log`, { worker_id: 'w1', epoch: run.epoch, lines: [{ text: 'x' }] }, reader))
        .status,
    ).toBe(403)
    const other = await key(s, 'bob', ['admin'], 'other')
    for (const path of [`/v1/runs/${run.id}/log`, `/v1/instances/${run.instance_id}/log`, `/v1/runs/${MISSING}/log`]) {
      expect((await s.get(path, other)).status).toBe(404)
    }
    expect((await s.get(`/v1/runs/${run.id}/log`)).body.lines).toEqual([])
  })
})
