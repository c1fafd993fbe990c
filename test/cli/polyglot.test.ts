/**
 * examples/polyglot: workers in three languages complete one chain, on either store, each started as its README
 * describes.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { client, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { root, shell } from './petrel.ts'

const sh = shell()
const folder = join(root, 'examples/polyglot')
const build = join(root, `.test-polyglot-${process.pid}`)
const workflow = JSON.parse(readFileSync(join(folder, 'workflow.json'), 'utf8'))

/** A process, its output, and its exit. */
interface Talking {
  readonly child: ChildProcess
  output(): string
  stop(): Promise<number | null>
}

const running: Talking[] = []

function start(command: string, args: readonly string[], env: Record<string, string>): Talking {
  const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const talking = {
    child,
    output: () => output,
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
  running.push(talking)
  return talking
}

describe('examples/polyglot', () => {
  beforeAll(() => {
    // Next to the sources, so that imports of the package resolve.
    mkdirSync(build)
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--outDir', build], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  }, 60_000)
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL')
  })
  afterAll(() => rmSync(build, { recursive: true, force: true }))

  const workers = (url: string, store: string): readonly Talking[] => [
    // -I -S: without installed packages, only the standard library.
    start('python3', ['-I', '-S', join(folder, 'worker.py')], { OJS_URL: url }),
    start(join(folder, 'worker.sh'), [], { OJS_URL: url }),
    start(process.execPath, [join(build, 'worker.js')], { PETREL_STORE: store }),
  ]

  const stores = [
    ['SQLite', async () => ({ url: `sqlite:${join(sh.dir, 'polyglot.db')}`, drop: async () => {} })],
    ['Postgres', freshDatabase],
  ] as const
  for (const [name, place] of stores) {
    it.skipIf(name === 'Postgres' && postgresUrl() === null)(
      `completes a chain across three languages on ${name}`,
      async () => {
        const { url: store, drop } = await place()
        const server = sh.start('server', '--json', '--port', '0', '--store', store)
        const [, url] = (await server.until(/"url":"([^"]+)"/)) as unknown as [string, string]
        const all = workers(url, store)
        const ojs = client(url)
        const { id } = (await ojs.post('/ojs/v1/workflows', workflow)).body
        const { body } = await until(
          () => ojs.get(`/ojs/v1/workflows/${id}`),
          (reply) => !['pending', 'running'].includes(reply.body.state),
          25_000,
        )
        expect([body.state, all.map((worker) => worker.output())]).toEqual(['completed', expect.anything()])
        expect(body.steps.map((step: { readonly result: unknown }) => step.result)).toEqual([
          { text: 'Storm petrels walk on water', words: 5, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
          { text: 'STORM PETRELS WALK ON WATER', by: 'Shell' },
          {
            title: 'STORM PETRELS WALK ON WATER (5 words, front page)',
            languages: ['Python', 'Shell', 'TypeScript'],
          },
          {
            checked: 'STORM PETRELS WALK ON WATER (5 words, front page)',
            languages: ['Python', 'Shell', 'TypeScript', 'Python'],
          },
        ])
        // All of them stop cleanly while they wait for work.
        expect(await Promise.all(all.map((worker) => worker.stop()))).toEqual([0, 0, 0])
        server.child.kill('SIGTERM')
        expect((await server.ended).code).toBe(0)
        await drop()
      },
      60_000,
    )
  }

  it('a job without a handler and a job that fails are reported as failed', async () => {
    const server = sh.start('server', '--json', '--port', '0', '--data', 'polyglot-failing')
    const [, url] = (await server.until(/"url":"([^"]+)"/)) as unknown as [string, string]
    start('python3', [join(folder, 'worker.py')], { OJS_URL: url })
    start(join(folder, 'worker.sh'), [], { OJS_URL: url })
    const ojs = client(url)
    const jobs = [
      { type: 'text.measure', args: [7], queue: 'python', code: 'handler_error' },
      { type: 'no.such', args: [], queue: 'python', code: 'handler_not_found' },
      { type: 'text.shout', args: [], queue: 'shell', code: 'handler_error' },
      { type: 'no.such', args: [], queue: 'shell', code: 'handler_not_found' },
    ]
    for (const { type, args, queue, code } of jobs) {
      const options = { queue, retry: { max_attempts: 1 } }
      const { id } = (await ojs.post('/ojs/v1/jobs', { type, args, options })).body
      const { body } = await until(
        () => ojs.get(`/ojs/v1/jobs/${id}`),
        (reply) => reply.body.job.state === 'discarded',
        20_000,
      )
      expect([type, queue, body.job.error]).toEqual([
        type,
        queue,
        expect.objectContaining({ code, message: expect.stringMatching(/\w/) }),
      ])
    }
    server.child.kill('SIGTERM')
    await server.ended
  }, 60_000)
})
