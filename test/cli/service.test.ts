import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { HANDLERS, type Running, shell } from './petrel.ts'

const sh = shell()
let handlers: string

beforeAll(() => {
  handlers = sh.write('handlers.mjs', HANDLERS)
})

async function stop(service: Running, signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM') {
  service.child.kill(signal)
  return service.ended
}

describe('petrel dev', () => {
  it('starts, runs its demo, prints its addresses, and stops on SIGINT with exit code 0', async () => {
    const began = performance.now()
    const dev = sh.start('dev', '--port', '0')
    const [, url] = await dev.until(/ready at (http:\/\/localhost:\d+)/)
    const health = await fetch(`${url}/ojs/v1/health`)
    console.log(`petrel dev: ready ${Math.round(performance.now() - began)} ms after the process was started`)
    expect(health.status).toBe(200)
    await dev.until(/Ctrl-C stops it/)
    expect(dev.out).toMatch(/jobs\[1\] +demo\.resize +retrying/)
    expect(dev.out).toMatch(/demo +completed\n/)
    expect(dev.out).toContain(`${url}/v1/instances`)
    const [, token] = await dev.until(/\/\?token=(dev_[\w-]+)/)
    const file = join(sh.dir, '.petrel', 'dev-token')
    expect([readFileSync(file, 'utf8').trim(), statSync(file).mode & 0o777]).toEqual([token, 0o600])
    const asked = async (path: string, headers = {}) => (await fetch(`${url}${path}`, { headers })).status
    const own = { authorization: `Bearer ${token}` }
    for (const headers of [{}, { authorization: `Bearer ${token}x` }])
      for (const path of ['/v1/instances', '/metrics', `/v1/instances?token=${token}`])
        expect([path, await asked(path, headers)]).toEqual([path, 401])
    expect(await asked('/v1/instances', { ...own, origin: 'https://evil.example' })).toBe(403)
    const way = await fetch(`${url}/?token=${token}`, { redirect: 'manual' })
    expect([way.status, way.headers.get('location')]).toEqual([302, '/ui/'])
    const cookie = (way.headers.get('set-cookie') ?? '').split(';')[0] as string
    expect(await asked('/v1/instances', { cookie })).toBe(200)
    const { instances } = (await (await fetch(`${url}/v1/instances`, { headers: own })).json()) as any
    expect(instances).toMatchObject([{ name: 'demo', state: 'completed' }])
    const { code, out, err } = await stop(dev, 'SIGINT')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('stopped')
    expect(out).not.toContain('\u001b')
    expect((await sh.petrel('ls', '--json')).json().instances).toHaveLength(1)
  })

  it('prints events as JSON lines with --json', async () => {
    const dev = sh.start('dev', '--port', '0', '--json', '--data', 'json')
    await dev.until(/"event":"demo"/)
    const { code, out } = await stop(dev)
    expect(code).toBe(0)
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event),
    ).toEqual(['ready', 'demo', 'stopped'])
  })

  it('a port in use: exit code 2, and no file is left behind', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { readonly port: number }
    const { code, err } = await sh.petrel('dev', '--port', String(port), '--data', 'taken')
    taken.close()
    expect(code).toBe(2)
    expect(err).toMatch(
      new RegExp(`^petrel: port ${port} is taken by another process\n {2}name a free one: --port ${port + 1}`),
    )
  })

  it('takes its port from the variable PORT', async () => {
    sh.env = { PORT: '0' }
    const server = sh.start('server', '--data', 'env')
    sh.env = {}
    await server.until(/listening on http:\/\/localhost:(?!7070)\d+/)
    expect((await stop(server)).code).toBe(0)
  })
})

describe('SIGTERM during work', () => {
  const flow = (marks: string) =>
    `type: chain\nname: slow\nsteps:\n  - { type: test.slow, args: ['${marks}'] }\n  - { type: test.echo, args: [1] }\n`

  async function begun(marks: string): Promise<void> {
    while (!readFileSync(marks, 'utf8').includes('begin')) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  it('lets the work end and records it; the next worker continues from there', async () => {
    const marks = sh.write('graceful.txt', '')
    await sh.petrel('run', sh.write('graceful.yaml', flow(marks)), '--data', 'graceful')
    const first = sh.start('worker', '--handlers', handlers, '--data', 'graceful')
    await begun(marks)
    expect(await stop(first)).toMatchObject({ code: 0, out: expect.stringContaining('stopped') })
    expect(readFileSync(marks, 'utf8')).toBe('begin\nend\n')
    const [{ id, succeeded }] = (await sh.petrel('ls', '--json', '--data', 'graceful')).json().instances
    expect(succeeded).toBe(1)
    const second = sh.start('worker', '--handlers', handlers, '--data', 'graceful')
    expect((await sh.petrel('watch', id, '--data', 'graceful')).code).toBe(0)
    await stop(second)
    expect(readFileSync(marks, 'utf8')).toBe('begin\nend\n')
  })

  it('without grace it still exits 0, and the next worker repeats the interrupted work', async () => {
    const marks = sh.write('hasty.txt', '')
    await sh.petrel('run', sh.write('hasty.yaml', flow(marks)), '--data', 'hasty')
    const first = sh.start('worker', '--handlers', handlers, '--data', 'hasty', '--grace', '0')
    await begun(marks)
    expect((await stop(first)).code).toBe(0)
    const second = sh.start('worker', '--handlers', handlers, '--data', 'hasty')
    const [{ id }] = (await sh.petrel('ls', '--json', '--data', 'hasty')).json().instances
    expect((await sh.petrel('watch', id, '--data', 'hasty')).code).toBe(0)
    await stop(second)
    expect((await sh.petrel('doctor', '--data', 'hasty')).code).toBe(0)
  })
})

describe('petrel worker', () => {
  it('works only on the types and queues of its options', async () => {
    await sh.petrel(
      'run',
      sh.write(
        'two.yaml',
        'type: group\nname: two\njobs:\n  - { type: test.echo, args: [1] }\n  - { type: test.echo, args: [2], queue: other }\n',
      ),
      '--data',
      'queues',
    )
    const worker = sh.start(
      'worker',
      '--handlers',
      handlers,
      '--data',
      'queues',
      '--queues',
      'other',
      '--types',
      'test.echo',
      '--json',
    )
    await worker.until(/"types":\["test.echo"\],"queues":\["other"\]/)
    const [{ id }] = (await sh.petrel('ls', '--json', '--data', 'queues')).json().instances
    const runs = async () => (await sh.petrel('show', id, '--json', '--data', 'queues')).json().runs
    while (!(await runs()).some((r: any) => r.status === 'succeeded')) expect(worker.child.exitCode).toBe(null)
    expect((await runs()).map((r: any) => [r.queue, r.status]).sort()).toEqual([
      ['default', 'pending'],
      ['other', 'succeeded'],
    ])
    await stop(worker)
  })

  it('takes registered types only if it names their runtime, and at once when they become open to it', async () => {
    const data = ['--data', 'runtimes']
    await sh.petrel('migrate', ...data)
    expect((await sh.petrel('registry', 'set', 'test.echo', 'go', ...data)).code).toBe(0)
    const node = sh.start('worker', '--handlers', handlers, '--json', ...data)
    await node.until(/"event":"ready"/)
    const file = sh.write('echo.yaml', 'type: chain\nname: echo\nsteps:\n  - { type: test.echo, args: [1] }\n')
    const waiting = await sh.petrel('run', file, ...data)
    expect(waiting.out).toContain("waits for a worker of runtime 'go' that handles 'test.echo'")
    const [{ id }] = (await sh.petrel('ls', '--json', ...data)).json().instances
    const go = sh.start('worker', '--handlers', handlers, '--runtime', 'go', '--types', 'test.%', '--json', ...data)
    expect((await sh.petrel('watch', id, ...data)).code).toBe(0)
    await stop(go)
    await sh.petrel('registry', 'disable', 'test.echo', ...data)
    expect((await sh.petrel('run', file, ...data)).out).toContain("type 'test.echo' is disabled in the registry")
    const [{ id: next }] = (await sh.petrel('ls', '--json', ...data)).json().instances
    await sh.petrel('registry', 'set', 'test.echo', 'node', ...data)
    await sh.petrel('registry', 'enable', 'test.echo', ...data)
    expect((await sh.petrel('watch', next, ...data)).code).toBe(0)
    await stop(node)
    expect((await sh.petrel('doctor', ...data)).code).toBe(0)
  })

  it('refuses a type without a handler', async () => {
    const { code, err } = await sh.petrel('worker', '--handlers', handlers, '--types', 'no.such')
    expect([code, err]).toEqual([2, expect.stringContaining("there is no handler for 'no.such'")])
  })
})
