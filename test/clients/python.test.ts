/**
 * clients/python: its own tests (clients/python/tests), run against a server process on either store and against
 * Postgres alone, under a role with the rights of `petrel grants`. The docstring of each Python test is its title; each
 * is a test here.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { grantsFor } from '../../src/store/postgres/grants.ts'
import { root, shell } from '../cli/petrel.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'

const folder = join(root, 'clients/python')
/** psycopg2 from Debian is installed for Debian's Python, which need not be the first in PATH. */
const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import psycopg2'], { stdio: 'ignore' }).status === 0,
)
const sh = shell()

interface Reported {
  readonly id: string
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly text: string
}

/** Python with the client on its path, in a non-UTC time zone as users have it. */
const environment = (more: Record<string, string>): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: join(folder, 'src'),
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONWARNINGS: 'error',
  TZ: 'Asia/Kathmandu',
  ...more,
})

function titlesOf(module: string): readonly Pick<Reported, 'id' | 'title'>[] {
  const args = ['-m', 'tests.report', '--list', `tests.${module}`]
  const listed = spawnSync(python ?? 'python3', args, { cwd: folder, env: environment({}), encoding: 'utf8' })
  if (listed.error !== undefined) return [{ id: module, title: 'needs Python' }]
  if (listed.status !== 0) throw new Error(listed.stderr)
  return listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Started together: most of their time is spent waiting for leases to expire. */
const starts: (() => Promise<void>)[] = []
const children = new Set<ChildProcess>()

/** One test per test of the module; each waits for the line with its result. */
function suite(module: string, environmentOf: (() => Promise<Record<string, string>>) | null): void {
  const titles = titlesOf(module)
  const reported = new Map<string, { readonly promise: Promise<Reported>; report(reported: Reported): void }>()
  for (const { id } of titles) {
    let report: (reported: Reported) => void = () => {}
    const promise = new Promise<Reported>((resolve) => {
      report = resolve
    })
    reported.set(id, { promise, report })
  }
  const run = async (): Promise<void> => {
    const child = start(['-m', 'tests.report', `tests.${module}`], await environmentOf!(), folder)
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const one = JSON.parse(line) as Reported
      reported.get(one.id)?.report(one)
    })
    let err = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.once('close', (code) => {
      const text = `not reported; Python ended with ${code}\n${err}`
      for (const [id, { report }] of reported) report({ id, title: '', outcome: 'failed', text })
    })
  }
  if (environmentOf !== null) starts.push(run)
  for (const { id, title } of titles) {
    it(title, async () => {
      const { outcome, text } = await reported.get(id)!.promise
      expect(`${outcome} ${text}`.trim()).toBe('passed')
    }, 120_000)
  }
}

function start(args: readonly string[], more: Record<string, string>, cwd: string): ChildProcess {
  const child = spawn(python!, args, { cwd, env: environment(more), stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  child.once('close', () => children.delete(child))
  return child
}

/** A separate role on a separate migrated database. */
interface Place {
  readonly database: FreshDatabase
  readonly dsn: string
  drop(): Promise<void>
}

async function place(): Promise<Place> {
  const database = await freshDatabase()
  const store = await openStore(database.url)
  await store.migrate()
  await store.close()
  const role = `python_${process.pid}_${Math.random().toString(36).slice(2, 8)}`
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'`)
  await client.query(grantsFor(role))
  await client.end()
  const dsn = new URL(database.url)
  dsn.username = role
  dsn.password = role
  return {
    database,
    dsn: dsn.href,
    async drop() {
      await database.drop()
      const admin = new pg.Client({ connectionString: postgresUrl()! })
      await admin.connect()
      await admin.query(`DROP ROLE ${role}`)
      await admin.end()
    },
  }
}

async function serverOn(store: string): Promise<string> {
  const server = sh.start('server', '--json', '--port', '0', '--store', store)
  const [, url] = (await server.until(/"url":"([^"]+)"/)) as unknown as [string, string]
  return url
}

/** The output of a program that ended with exit code 0. */
async function printed(args: readonly string[], cwd: string): Promise<string> {
  const child = start(args, {}, cwd)
  const output: Record<'out' | 'err', string> = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect([code, output.err]).toEqual([0, ''])
  return output.out
}

/** The programs of the README by name, and what each prints. */
function examples(replace: Readonly<Record<string, string>>): Record<string, { code: string; text: string | null }> {
  const page = readFileSync(join(folder, 'README.md'), 'utf8')
  const found = page.matchAll(/<!-- run: (\w+) -->\n```python\n([\s\S]*?)\n```\n(?:\n```text\n([\s\S]*?\n)```)?/g)
  return Object.fromEntries(
    [...found].map(([, name, code, text]) => {
      let program = code as string
      for (const [from, to] of Object.entries(replace)) program = program.replaceAll(from, to)
      return [name, { code: program, text: text ?? null }]
    }),
  )
}

describe.skipIf(python === undefined)('the Python client', () => {
  const places: Place[] = []
  const newPlace = async (): Promise<Place> => {
    const made = await place()
    places.push(made)
    return made
  }
  beforeAll(async () => {
    await Promise.all(starts.map((each) => each()))
  }, 120_000)
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    for (const each of places) await each.drop()
  })

  const beside = async (): Promise<Record<string, string>> => {
    const { database, dsn } = await newPlace()
    return { PETREL_TEST_URL: await serverOn(database.url), PETREL_TEST_DSN: dsn }
  }
  describe('alone', () => suite('test_alone', async () => ({})))
  describe('over HTTP on SQLite', () =>
    suite('test_http', async () => ({ PETREL_TEST_URL: await serverOn(`sqlite:${join(sh.dir, 'python.db')}`) })))

  const onPostgres = (title: string, module: string, environmentOf: () => Promise<Record<string, string>>): void => {
    const without = postgresUrl() === null
    describe.skipIf(without)(title, () => suite(module, without ? null : environmentOf))
  }
  onPostgres('over HTTP on Postgres', 'test_http', async () => ({
    PETREL_TEST_URL: await serverOn((await newPlace()).database.url),
  }))
  onPostgres('by SQL, without a Petrel process', 'test_sql', async () => ({ PETREL_TEST_DSN: (await newPlace()).dsn }))
  onPostgres('both ways at once', 'test_together', beside)
  // Their times have no zone: such clients run in UTC, as the role does.
  onPostgres('a client written without Petrel in mind', 'test_plain_client', async () => ({
    ...(await beside()),
    TZ: 'UTC',
  }))

  it.skipIf(postgresUrl() === null)(
    'has a README whose programs print the documented output',
    async () => {
      let stop: () => Promise<unknown> = async () => null
      const { database, dsn } = await newPlace()
      const url = await serverOn(database.url)
      const programs = examples({ 'http://127.0.0.1:7070': url, 'postgresql://worker@localhost/app': dsn })
      expect(Object.keys(programs)).toEqual(['submit', 'worker', 'look', 'transaction'])
      for (const [name, { code }] of Object.entries(programs)) sh.write(`${name}.py`, code)
      for (const [name, { text }] of Object.entries(programs)) {
        if (text !== null) {
          expect([name, await printed([`${name}.py`], sh.dir)]).toEqual([name, text])
          continue
        }
        const worker = start([`${name}.py`], {}, sh.dir)
        const ended = new Promise((resolve) => worker.once('close', resolve))
        stop = async () => {
          worker.kill('SIGTERM')
          return ended
        }
      }
      expect(await stop()).toBe(0)
    },
    120_000,
  )
})
