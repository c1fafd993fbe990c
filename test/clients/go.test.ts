/**
 * clients/go: its own tests, compiled once with the race detector and run against a server process on either store. The
 * comment above each Go test is its title; each is a test here. The compiled tests also serve as a worker
 * (PETREL_TEST_WORKER), which is used here where the server itself is killed.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Running, root, shell } from '../cli/petrel.ts'
import { client, until } from '../server/serving.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'

const folder = join(root, 'clients/go')
const JSON_BODY = { 'content-type': 'application/json' }
const missing = ['go version', 'gcc --version'].some((probe) => spawnSync('sh', ['-c', probe]).status !== 0)
const sh = shell()
const binary = join(sh.dir, 'petrel.test')
const running = new Set<ChildProcess>()

/** Nothing is downloaded; compiled packages are cached where Go keeps them, if that directory exists. */
const env: NodeJS.ProcessEnv = { ...process.env, GOPROXY: 'off', GOFLAGS: '', GOWORK: 'off', GOENV: 'off' }
if (!missing && spawnSync('sh', ['-c', 'mkdir -p "$(go env GOCACHE)" && test -w "$(go env GOCACHE)"']).status !== 0) {
  env['GOCACHE'] = join(sh.dir, 'go-build')
}

function go(cwd: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)('go', args, { cwd, env })
}

/** The comment above a test is its title. */
function titles(): readonly { readonly name: string; readonly title: string }[] {
  const sources = readdirSync(folder).filter((name) => name.endsWith('_test.go'))
  return sources.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return [...text.matchAll(/((?:^\/\/ .*\n)*)^func (Test(?!Main\b)\w+)\(/gm)].map(([, comment = '', name = '']) => ({
      name,
      title: comment
        .replace(/^\/\/ /gm, '')
        .replace(/\n/g, ' ')
        .trim()
        .replace(/\.$/, ''),
    }))
  })
}

interface Serving {
  readonly url: string
  readonly process: Running
}

async function serverOn(store: string, port = '0'): Promise<Serving> {
  const process = sh.start('server', '--store', store, '--port', port, '--grace', '1')
  const [, url] = await process.until(/listening on (\S+),/)
  return { url: url as string, process }
}

async function workKey(store: string): Promise<string> {
  const made = await sh.petrel('keys', 'add', '--subject', 'go', '--scope', 'work', '--store', store, '--json')
  return made.json().key
}

interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  readonly output: string
}

/** Resolves when the process has ended, with any exit code. */
function start(program: string, args: readonly string[], more: Record<string, string>): Started {
  const child = spawn(program, args, { cwd: folder, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  running.add(child)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    child,
    ended: ended.finally(() => running.delete(child)),
    get output() {
      return output
    },
  }
}

/** The result and the output of each test; a line belongs to the test named before it. */
function outcomes(output: string): ReadonlyMap<string, { readonly how: string; readonly text: string }> {
  const outputs = new Map<string, string>()
  const ended = new Map<string, string>()
  let speaker = ''
  for (const line of output.split('\n')) {
    const [, how, name] = /^(?:===|---) (\w+):? +(\w+)/.exec(line) ?? []
    if (name === undefined) outputs.set(speaker, `${outputs.get(speaker) ?? ''}\n${line}`)
    else speaker = name
    if (name !== undefined && line.startsWith('---')) ended.set(name, how ?? '')
  }
  return new Map(
    [...ended].map(([name, how]) => [name, { how, text: how === 'PASS' ? '' : (outputs.get(name) ?? '') }]),
  )
}

/** Waits until the worker has reported it; on a time-out the error contains the worker's output. */
async function waitForOutput(worker: Started, pattern: RegExp): Promise<void> {
  expect(
    await until(
      async () => worker.output,
      (text) => pattern.test(text),
    ),
  ).toMatch(pattern)
}

/** Most of the tests' time is waiting, so both stores are tested at once. */
const toTest: (() => Promise<void>)[] = []

function onStore(kind: 'sqlite' | 'postgres', open: () => Promise<FreshDatabase>): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`on ${kind}`, () => {
    let place: FreshDatabase
    let output = ''
    let reported: ReturnType<typeof outcomes>

    const tested = async (): Promise<void> => {
      place = await open()
      const { url, process } = await serverOn(place.url)
      const tests = start(binary, ['-test.v', '-test.parallel=16', '-test.timeout=100s'], {
        PETREL_TEST_URL: url,
        PETREL_TEST_WORK_KEY: await workKey(place.url),
      })
      await tests.ended
      process.child.kill('SIGTERM')
      await process.ended
      output = tests.output
      reported = outcomes(output)
    }
    if (kind === 'sqlite' || postgresUrl() !== null) toTest.push(tested)

    afterAll(() => place?.drop())

    for (const { name, title } of titles()) {
      it(title, () => {
        const { how, text } = reported.get(name) ?? { how: 'not reported', text: output }
        expect(`${how} ${text}`.trim()).toBe('PASS')
      })
    }

    it('Its examples print the documented output, without races', () => {
      const examples = [...reported].filter(([name]) => name.startsWith('Example'))
      expect(examples.filter(([, { how }]) => how !== 'PASS')).toEqual([])
      expect(examples.length).toBeGreaterThan(3)
      expect(output).not.toContain('DATA RACE')
      expect(output.trim().split('\n').at(-1)).toBe('PASS')
    })

    it('A worker continues after its server was killed and restarted', async () => {
      const first = await serverOn(place.url)
      const worker = start(binary, [], {
        PETREL_TEST_WORKER: 'outage',
        PETREL_TEST_URL: first.url,
        PETREL_TEST_TYPES: 'outage.%',
        PETREL_TEST_LEASE: '20s',
      })
      await waitForOutput(worker, /^ready/m)
      const body = { type: 'outage.slow.v1', payload: { takes: '700ms' } }
      const { id } = (await client(first.url).post('/v1/runs', body, JSON_BODY)).body
      await waitForOutput(worker, /^begin/m)
      first.process.child.kill('SIGKILL')
      await first.process.ended
      await waitForOutput(worker, /^end/m)
      const second = await serverOn(place.url, new URL(first.url).port)
      const look = () => client(second.url).get(`/v1/runs/${id}`)
      const { run } = (await until(look, (reply) => reply.body.run.status === 'succeeded')).body
      expect([run.status, run.attempt, run.result]).toEqual(['succeeded', 0, { worker: 'outage' }])
      worker.child.kill('SIGTERM')
      expect(await worker.ended).toBe(0)
      second.process.child.kill('SIGTERM')
      await second.process.ended
    }, 60_000)
  })
}

describe.skipIf(missing)('clients/go', () => {
  beforeAll(async () => {
    await go(folder, 'test', '-race', '-c', '-o', binary, '.')
    await Promise.all(toTest.map((tested) => tested()))
  }, 240_000)

  afterAll(() => {
    for (const child of running) child.kill('SIGKILL')
  })

  onStore('sqlite', async () => ({ url: `sqlite:${join(sh.dir, 'go.db')}`, drop: async () => {} }))
  onStore('postgres', freshDatabase)

  it('Every test has a unique title', () => {
    const all = titles().map(({ title }) => title)
    expect(all.filter((title) => title === '')).toEqual([])
    expect(new Set(all).size).toBe(all.length)
  })

  it('It is formatted by gofmt and passes go vet', async () => {
    const { stdout } = await promisify(execFile)('gofmt', ['-l', '.'], { cwd: folder, env })
    expect(stdout).toBe('')
    await go(folder, 'vet', './...')
  }, 60_000)

  it('It needs only the standard library of Go 1.19', async () => {
    expect(readFileSync(join(folder, 'go.mod'), 'utf8')).toBe('module petrel\n\ngo 1.19\n')
    const { stdout } = await go(folder, 'list', '-deps', '-f', '{{if not .Standard}}{{.ImportPath}}{{end}}', './...')
    expect(stdout.trim().split(/\s+/).sort()).toEqual(['petrel', 'petrel/example/worker'])
  })

  it('The program of its README, in a separate module, works and ends on SIGTERM', async () => {
    const own = join(sh.dir, 'own')
    mkdirSync(own)
    copyFileSync(join(folder, 'example/worker/main.go'), join(own, 'main.go'))
    await go(own, 'mod', 'init', 'example.com/own')
    await go(own, 'mod', 'edit', '-require=petrel@v0.0.0', `-replace=petrel=${folder}`)
    await go(own, 'build', '-o', 'worker', '.')
    const store = `sqlite:${join(sh.dir, 'own.db')}`
    const { url, process } = await serverOn(store)
    const worker = start(join(own, 'worker'), [], { PETREL_URL: url, PETREL_API_KEY: await workKey(store) })
    const api = client(url)
    const body = { type: 'picture.resize.v1', payload: { name: 'petrel.png', pieces: 5 } }
    const { id } = (await api.post('/v1/runs', body, JSON_BODY)).body
    await until(
      () => api.get(`/v1/runs/${id}`),
      (reply) => reply.body.run.status === 'leased',
    )
    worker.child.kill('SIGTERM')
    expect(await worker.ended, worker.output).toBe(0)
    const { run } = (await api.get(`/v1/runs/${id}`)).body
    expect([run.status, run.result]).toEqual(['succeeded', { resized: 'petrel.png' }])
    process.child.kill('SIGTERM')
    await process.ended
  }, 60_000)
})
