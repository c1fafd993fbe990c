/** Steps in a real worker, with real tools, on both stores. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SlotPrefix } from '../../src/net/slots.ts'
import { Tools } from '../../src/tools/tools.ts'
import { PLACES } from '../engine/drive.ts'
import { error, FakeTool, ok, payload, program, rule, task } from './fakes.ts'
import { json, Service, Stage } from './stage.ts'

const FAILED = "{{ output.status == 'error' }}"

describe.each(PLACES)('steps on $name', (place) => {
  const open: { close(): Promise<unknown> }[] = []
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'petrel-pipeline-'))
  })
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close()
    await rm(folder, { recursive: true, force: true })
  })
  const stage = async (options: Parameters<typeof Stage.open>[1] = {}) => {
    const opened = await Stage.open(place, options)
    open.push(opened)
    return opened
  }
  const service = async (answer: Parameters<typeof Service.open>[0]) => {
    const opened = await Service.open(answer)
    open.push(opened)
    return opened
  }
  const notes = async (s: Stage, runId: string, type: string): Promise<any[]> =>
    (await s.store.read.runHistory(runId)).filter((e) => e.type === type).map((e) => JSON.parse(e.data ?? '{}').notes)

  it('pages by jump, over replies that fail intermittently', async () => {
    const s = await stage()
    const pages = await service((url, n, response) => {
      const page = Number(url.searchParams.get('page'))
      if (n === 2 || n === 4) return json(response, 503, { sorry: true })
      json(response, 200, { items: [page * 10, page * 10 + 1], paging: { hasMore: page < 3 } })
    })
    const tasks = [
      task('init', { kind: 'noop', rules: [rule(null, 'continue', { set: { 'iter.page': 1, 'iter.items': [] } })] }),
      task('fetch', {
        kind: 'http',
        config: { url: '{{ base }}/items', params: { page: '{{ iter.page }}' } },
        rules: [
          rule(`{{ output.status == 'error' and output.http.status in [500, 502, 503] }}`, 'retry', {
            attempts: 2,
            delayS: 0.01,
          }),
          rule(FAILED, 'fail'),
          rule(null, 'continue', {
            set: {
              'iter.items': '{{ iter.items + output.data.items }}',
              'iter.more': '{{ output.data.paging.hasMore }}',
            },
          }),
        ],
      }),
      task('paginate', {
        kind: 'noop',
        rules: [
          rule('{{ iter.more }}', 'jump', { to: 'fetch', set: { 'iter.page': '{{ iter.page + 1 }}' } }),
          rule(null, 'continue'),
        ],
      }),
      task('sum', {
        kind: 'python',
        input: { items: '{{ iter.items }}' },
        config: { code: 'result = {"sum": sum(items), "pages": context["iter"]["page"]}' },
        set: { 'ctx.total': '{{ output.sum }}' },
      }),
    ]
    const id = await s.start(program(tasks), payload({ workload: { base: pages.url } }))
    expect(await s.ended(id)).toBe('completed: success')
    expect(await s.result(id)).toEqual({ sum: 10 + 11 + 20 + 21 + 30 + 31, pages: 3 })
    expect(await s.context(id)).toEqual({ total: 123 })
    expect(pages.requests.map(({ url }) => url.slice(-1))).toEqual(['1', '2', '2', '3', '3'])
    const run = await s.runWhen(id, () => true)
    const [recorded] = await notes(s, run.id, 'succeeded')
    expect(recorded.map((n: any) => `${n.task}#${n.attempt} ${n.status}`)).toEqual([
      'init#1 ok',
      'fetch#1 ok',
      'paginate#1 ok',
      'fetch#1 error',
      'fetch#2 ok',
      'paginate#1 ok',
      'fetch#1 error',
      'fetch#2 ok',
      'paginate#1 ok',
      'sum#1 ok',
    ])
  })

  it('fails with the error of its tool, once and for good', async () => {
    const s = await stage()
    const gone = await service((_url, _n, response) => json(response, 404, { no: 'such thing' }))
    const id = await s.start(program([task('fetch', { kind: 'http', config: { url: `${gone.url}/x` } })]))
    expect(await s.ended(id)).toBe('failed: failed')
    const run = await s.runWhen(id, () => true)
    expect(run).toMatchObject({ status: 'failed', attempt: 1 })
    expect(JSON.parse(run.error!)).toMatchObject({
      code: 'not_found',
      retryable: false,
      details: { task: 'fetch', http: { status: 404 } },
    })
    expect(gone.requests).toHaveLength(1)
  })

  it('a long rest frees the worker, and the step continues where it was', async () => {
    const tried: string[] = []
    const tool = new FakeTool((call) => {
      tried.push(`${call.context['step']} ${call.context['task']}#${call.context['attempt']}`)
      return call.config['fails'] === true && call.context['attempt'] === 1 ? error('rate_limit') : ok(tried.length)
    })
    const s = await stage({ concurrency: 1, tools: new Tools().add(tool) })
    const slow = program(
      [
        task('first', { set: { 'ctx.first': '{{ output }}' } }),
        task('limited', { config: { fails: true }, rules: [rule(FAILED, 'retry', { delayS: 3600 })] }),
        task('last', { config: { sum: '{{ first + limited }}' } }),
      ],
      { step: 'slow' },
    )
    const id = await s.start(slow)
    const resting = await s.runWhen(id, (run) => run.status === 'pending' && run.epoch === 1)
    expect(resting.runAt - (await s.store.now())).toBeGreaterThan(3_500_000)
    expect(await s.context(id)).toEqual({ first: 1 })

    // The only slot is free in the meantime.
    const other = await s.start(program([task('quick')], { step: 'other' }))
    expect(await s.ended(other)).toBe('completed: success')

    await s.pass(3_601_000)
    expect(await s.ended(id)).toBe('completed: success')
    expect(tried).toEqual(['slow first#1', 'slow limited#1', 'other quick#1', 'slow limited#2', 'slow last#1'])
    const run = await s.runWhen(id, () => true)
    expect(run).toMatchObject({ status: 'succeeded', attempt: 0 })
    expect((await notes(s, run.id, 'returned'))[0].at(-1)).toMatchObject({ event: 'pipeline.postponed', ms: 3_600_000 })
    expect((await notes(s, run.id, 'succeeded'))[0][0]).toMatchObject({
      event: 'pipeline.resumed',
      task: 'limited',
      attempt: 2,
    })
  })

  it('cancelled: the process of its tool is gone', async () => {
    const s = await stage()
    const file = join(folder, 'pid')
    const id = await s.start(
      program([task('sleep', { kind: 'shell', config: { cmd: `echo $$ > ${file}; exec sleep 600` } })]),
    )
    await s.runWhen(id, (run) => run.status === 'leased')
    const pid = await eventually(async () => Number((await readFile(file, 'utf8')).trim()) || null)
    await s.engine.cancelInstance({ id, actor: 'test' })
    expect(await s.ended(id)).toMatch(/^cancelled/)
    await eventually(async () => (alive(pid) ? null : true))
  })

  it('a task that takes too long: an outcome that a rule can read', async () => {
    const s = await stage()
    const tasks = [
      task('sleep', {
        kind: 'shell',
        config: { cmd: 'sleep 600' },
        timeoutMs: 200,
        rules: [rule('{{ output.error.kind == "timeout" }}', 'continue', { set: { 'ctx.slow': true } })],
      }),
    ]
    const id = await s.start(program(tasks))
    expect(await s.ended(id)).toBe('completed: success')
    expect(await s.context(id)).toEqual({ slow: true })
  })

  it('secrets reach the tools, and nothing that is stored', async () => {
    const password = 'correct-horse-"battery"'
    const file = join(folder, 'db.json')
    await writeFile(file, JSON.stringify({ password }))
    const echo = await service((_url, n, response) =>
      json(response, n === 1 ? 200 : 401, { you: password, b64: Buffer.from(password).toString('base64') }),
    )
    const s = await stage({ secrets: { env: ['API_*'], variables: { API_TOKEN: 'tok-en/+1234567' }, dir: folder } })
    const keychain = [
      { name: 'api', kind: 'env', map: null, ref: 'API_TOKEN' },
      { name: 'db', kind: 'file', map: null, ref: 'db.json' },
    ] as const
    const tasks = [
      task('call', {
        kind: 'http',
        config: { url: `${echo.url}/?t={{ keychain.api }}`, headers: { authorization: 'Bearer {{ keychain.api }}' } },
        set: { 'ctx.seen': '{{ output.body.you }}' },
      }),
      task('print', {
        kind: 'python',
        input: { pw: '{{ keychain.db.password }}' },
        config: { code: 'print(pw)\nresult = {"pw": pw, "n": len(pw)}' },
      }),
      task('refused', {
        kind: 'http',
        config: { url: `${echo.url}/again` },
        rules: [rule(FAILED, 'retry', { attempts: 2, delayS: 3600 })],
      }),
    ]
    const id = await s.start(program(tasks, { keychain }))
    await s.runWhen(id, (run) => run.status === 'pending' && run.epoch === 1)
    await s.pass(3_601_000)
    expect(await s.ended(id)).toBe('failed: failed')
    expect(echo.requests[0]!.headers['authorization']).toBe('Bearer tok-en/+1234567')
    const run = await s.runWhen(id, () => true)
    const stored = JSON.stringify([
      run,
      await s.store.read.runHistory(run.id),
      await s.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 }),
      await s.store.read.slots({ instanceId: id, prefix: '' as SlotPrefix }),
      await s.store.read.instance(id),
    ])
    expect(stored).toContain('***')
    for (const secret of ['correct-horse', 'tok-en', Buffer.from(password).toString('base64').slice(0, 12)]) {
      expect(stored).not.toContain(secret)
    }
  })

  it('a result too large for the store fails the step, with the reason', async () => {
    const s = await stage()
    const code = 'result = "x" * 3000000'
    const id = await s.start(
      program([
        task('big', { kind: 'python', config: { code } }),
        task('small', { kind: 'noop', config: { result: '{{ big | length }}' } }),
      ]),
    )
    expect(await s.ended(id)).toBe('completed: success')
    expect(await s.result(id)).toBe(3_000_000)
    const whole = await s.start(program([task('big', { kind: 'python', config: { code } })]))
    expect(await s.ended(whole)).toBe('failed: failed')
    expect((await s.runWhen(whole, () => true)).error).toContain('payload_too_large')
  })
})

async function eventually<T>(look: () => Promise<T | null>): Promise<T> {
  for (const end = Date.now() + 10_000; ; ) {
    const found = await look().catch(() => null)
    if (found !== null) return found
    if (Date.now() > end) throw new Error('it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
