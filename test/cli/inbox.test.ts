/** The inbox at a shell: submit, runs, registry, schedules, grants, and the metrics of a worker. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { root, shell } from './petrel.ts'

const sh = shell()

function suite(store: () => string): void {
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())
  const submit = async (...args: readonly string[]) => (await petrel('submit', ...args, '--json')).json()

  beforeAll(async () => {
    await petrel('migrate')
  })

  it('submit writes a run; a second submit with the same key returns the first run', async () => {
    const made = await petrel('submit', 'cli.a.v1', '{"order": 7}', '--key', 'a:1', '--priority', '5')
    expect([made.code, made.out]).toEqual([0, expect.stringMatching(/^run [0-9a-f-]{36} \(cli\.a\.v1\) is pending\n$/)])
    const again = await petrel('submit', 'cli.a.v1', '--key', 'a:1')
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/^the key is taken by run .*, which is pending\n$/),
    ])
    const { id, created, run } = await submit('cli.a.v1', '--key', 'a:1')
    expect([created, run]).toEqual([false, expect.objectContaining({ id, payload: { order: 7 }, priority: 5 })])
  })

  it('submit takes every field, and the payload from a file or from standard input', async () => {
    const file = sh.write('payload.json', '{"from": "file"}')
    const options = ['--run-at', '2031-01-31T09:00:00Z', '--max-attempts', '9', '--queue', 'q', '--priority', '-1']
    const { run } = await submit('cli.b.v1', `@${file}`, ...options)
    expect(run).toMatchObject({
      payload: { from: 'file' },
      run_at: '2031-01-31T09:00:00.000Z',
      max_attempts: 9,
      queue: 'q',
      priority: -1,
    })
    const piped = spawn(process.execPath, [join(root, 'bin/petrel'), 'submit', 'cli.b.v1', '-', '--store', store()], {
      cwd: sh.dir,
    })
    piped.stdin.end('[1, 2]')
    await new Promise((resolve) => piped.once('close', resolve))
    const { runs } = (await petrel('runs', 'ls', '--type', 'cli.b.v1', '--json')).json()
    expect(runs.map((one: any) => one.payload)).toEqual([[1, 2], { from: 'file' }])
  })

  it.each([
    [['email.send'], 'type', 'billing.invoice.v1'],
    [['cli.c.v1', '{nope'], 'the payload is not JSON', '@order.json'],
    [['cli.c.v1', '@none.json'], 'there is no file none.json', 'path'],
    [['cli.c.v1', '--run-at', 'tomorrow'], 'run_at', '2030-01-31T09:00:00Z'],
    [['cli.c.v1', '--max-attempts', '0'], 'max_attempts must be a whole number from 1 to 1000', 'for example 1'],
    [['cli.c.v1', '--key', ''], 'idempotency_key', 'leave it out'],
    [['cli.c.v1', '--priority', 'high'], 'priority must be a whole number', 'petrel submit --help'],
    [[], "missing required argument 'type'", 'petrel submit --help'],
  ])('submit %j: one line for the error, one for the remedy', async (args, wrong, right) => {
    const { code, out, err } = await petrel('submit', ...args)
    expect([args, out]).toEqual([args, ''])
    expect(code).toBe(wrong.startsWith('there is no file') ? 3 : 2)
    const [first, second] = err.trimEnd().split('\n')
    expect(first).toContain(wrong)
    expect(second).toContain(right)
    expect((await petrel('runs', 'ls', '--type', 'cli.c.v1')).out).toBe('no runs\n')
  })

  it('runs ls lists runs by age, with filters, page by page', async () => {
    const ids: string[] = []
    for (const key of ['l:1', 'l:2', 'l:3']) ids.unshift((await submit('cli.ls.v1', '--key', key)).id)
    await petrel('runs', 'cancel', ids[2] as string)
    const ls = async (...args: readonly string[]) => {
      const page = (await petrel('runs', 'ls', '--type', 'cli.ls.%', ...args, '--json')).json()
      return { ids: page.runs.map((run: any) => run.id), next: page.next_before }
    }
    expect(await ls()).toEqual({ ids, next: null })
    const first = await ls('--limit', '2')
    expect(first.ids).toEqual(ids.slice(0, 2))
    expect(await ls('--limit', '2', '--before', first.next)).toEqual({ ids: ids.slice(2), next: null })
    expect((await ls('--status', 'cancelled')).ids).toEqual([ids[2]])
    expect((await ls('--key', 'l:2')).ids).toEqual([ids[1]])
    const table = (await petrel('runs', 'ls', '--type', 'cli.ls.%', '--limit', '2')).out
    expect(table).toMatch(/^RUN .*TYPE .*STATE/)
    expect(table).toContain(`older ones: --before ${first.next}`)
    const wrong = await petrel('runs', 'ls', '--status', 'active')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("status cannot be 'active'")])
  })

  it('runs show, events, cancel and delete', async () => {
    const { id } = await submit('cli.one.v1', '{"n": 1}', '--key', 'one')
    expect((await petrel('runs', 'show', id)).out).toContain('cli.one.v1  pending')
    expect((await petrel('runs', 'show', id, '--json')).json().run).toMatchObject({ id, payload: { n: 1 } })
    expect((await petrel('runs', 'cancel', id)).out).toBe(`run ${id} (cli.one.v1) is cancelled\n`)
    const again = await petrel('runs', 'cancel', id)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('already cancelled')])
    const events = (await petrel('runs', 'events', id, '--json')).json().events
    expect(events.map((event: any) => event.type)).toEqual(['created', 'cancelled'])
    expect((await petrel('runs', 'events', id)).out).toMatch(/^AT .*EVENT/)
    expect((await petrel('runs', 'delete', id)).out).toBe(`run ${id} (cli.one.v1) is deleted\n`)
    expect((await petrel('runs', 'ls', '--type', 'cli.one.v1')).out).toBe('no runs\n')
    expect((await petrel('runs', 'ls', '--type', 'cli.one.v1', '--deleted')).out).toContain(id)
    for (const command of ['show', 'events', 'cancel', 'delete']) {
      for (const unknown of ['01900000-0000-7000-8000-000000000000', 'nonsense']) {
        const { code, err } = await petrel('runs', command, unknown)
        expect([command, code, err]).toEqual([command, 3, expect.stringContaining(`there is no run ${unknown}`)])
      }
    }
  })

  it('registry set, disable, enable, ls and rm', async () => {
    expect((await petrel('registry', 'ls')).out).toContain('every type is open to all workers')
    expect((await petrel('registry', 'set', 'cli.reg.v1', 'python', '--description', 'ocr')).out).toBe(
      'cli.reg.v1 is executed by python\n',
    )
    expect((await petrel('registry', 'disable', 'cli.reg.v1')).out).toBe('cli.reg.v1 is disabled (python)\n')
    expect((await petrel('registry', 'set', 'cli.reg.v1', 'go', '--json')).json().entry).toMatchObject({
      runtime: 'go',
      is_enabled: false,
      description: 'ocr',
    })
    await submit('cli.reg.v1')
    const { entries } = (await petrel('registry', 'ls', '--json')).json()
    expect(entries).toMatchObject([{ workflow_name: 'cli.reg.v1', is_enabled: false, pending: 1 }])
    expect((await petrel('registry', 'ls')).out).toMatch(/cli\.reg\.v1 +go +disabled +1 +ocr/)
    expect((await petrel('registry', 'enable', 'cli.reg.v1')).out).toBe('cli.reg.v1 is executed by go\n')
    expect((await petrel('registry', 'rm', 'cli.reg.v1')).out).toBe('cli.reg.v1 is open to all workers\n')
    for (const command of ['enable', 'disable', 'rm']) {
      const { code, err } = await petrel('registry', command, 'cli.reg.v1')
      expect([command, code, err]).toEqual([command, 3, expect.stringContaining('is not in the registry')])
    }
    const prefix = await petrel('registry', 'set', 'cli.%', 'go')
    expect([prefix.code, prefix.err]).toEqual([2, expect.stringMatching(/is a prefix\n {2}petrel registry set --help/)])
  })

  it('schedules add, ls, pause, resume and rm', async () => {
    expect((await petrel('schedules', 'ls')).out).toBe('no schedules\n')
    const options = ['--timezone', 'Europe/Zurich', '--priority', '5', '--max-attempts', '7', '--json']
    const { schedule } = (await petrel('schedules', 'add', 'cli.daily.v1', '0 6 * * *', '{"d": 1}', ...options)).json()
    expect(schedule).toMatchObject({
      type: 'cli.daily.v1',
      schedule: '0 6 * * *',
      timezone: 'Europe/Zurich',
      payload: { d: 1 },
      priority: 5,
      max_attempts: 7,
      enabled: true,
    })
    const { id } = schedule
    expect((await petrel('schedules', 'ls')).out).toMatch(
      new RegExp(`${id} +cli\\.daily\\.v1 +0 6 \\* \\* \\* +Europe/Zurich`),
    )
    expect((await petrel('schedules', 'pause', id)).out).toBe(`schedule ${id} (cli.daily.v1) is paused\n`)
    expect((await petrel('schedules', 'ls', '--json')).json().schedules).toMatchObject([{ id, enabled: false }])
    expect((await petrel('schedules', 'resume', id)).out).toContain('fires next at 20')
    expect((await petrel('schedules', 'rm', id)).out).toBe(`schedule ${id} (cli.daily.v1) is removed\n`)
    for (const command of ['pause', 'resume', 'rm']) {
      for (const unknown of [id, 'nonsense']) {
        const { code, err } = await petrel('schedules', command, unknown)
        expect([command, code, err]).toEqual([command, 3, expect.stringContaining(`there is no schedule ${unknown}`)])
      }
    }
    for (const args of [
      ['report', '0 6 * * *'],
      ['cli.daily.v1', 'daily'],
      ['cli.daily.v1', '0 6 * * *', '{nope'],
      ['cli.daily.v1', '0 6 * * *', '--timezone', 'Mars/Olympus'],
      ['cli.daily.v1', '0 6 * * *', '--max-attempts', '0'],
    ]) {
      const { code, err } = await petrel('schedules', 'add', ...args)
      expect([args, code, err.trimEnd().split('\n').length]).toEqual([args, 2, 2])
    }
    expect((await petrel('schedules', 'ls')).out).toBe('no schedules\n')
  })

  it('a worker serves its metrics on a separate port', async () => {
    const handlers = sh.write('inbox-handlers.mjs', `export default { 'cli.work.v1': async () => 'done' }`)
    const options = ['--handlers', handlers, '--name', 'shell', '--metrics-port', '0', '--store', store()]
    const worker = sh.start('worker', ...options)
    const [, url] = await worker.until(/metrics on (http:\S+)/)
    await submit('cli.work.v1')
    const done = 'workflow_run_completed_total{workflow_type="cli.work.v1",worker_id="shell",status="succeeded"} 1'
    let text = ''
    for (const giveUpAt = Date.now() + 15_000; !text.includes(done) && Date.now() < giveUpAt; ) {
      text = await (await fetch(url as string)).text()
    }
    expect(text).toContain(done)
    expect(text).toContain('workflow_run_claimed_total{workflow_type="cli.work.v1",worker_id="shell"} 1')
    expect(text).toMatch(/workflow_worker_poll_cycle_total\{worker_id="shell"\} [1-9]/)
    expect(text).toContain('petrel_info')
    expect((await fetch(new URL('/', url))).status).toBe(404)
    const taken = await petrel('worker', '--handlers', handlers, '--metrics-port', new URL(url as string).port)
    expect([taken.code, taken.err]).toEqual([
      2,
      expect.stringMatching(/is taken by another process[\s\S]*--metrics-port/),
    ])
    worker.child.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })
}

describe('the inbox from a shell (sqlite)', () => {
  suite(() => `sqlite:${join(sh.dir, 'inbox.db')}`)
})

describe.skipIf(postgresUrl() === null)('the inbox from a shell (postgres)', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())
  suite(() => database.url)
})

describe('grants', () => {
  it('prints SQL for psql, with the role quoted, and needs no store', async () => {
    const { code, out } = await sh.petrel('grants', 'my "worker"')
    expect(code).toBe(0)
    expect(out).toContain('ON workflow.workflow_run TO "my ""worker"""')
    expect((await sh.petrel('grants', 'worker', '--json')).json()).toEqual({
      role: 'worker',
      sql: expect.stringContaining('"worker"'),
    })
  })

  it.each(['', 'public', 'pg_monitor', 'r'.repeat(64)])(
    'refuses %j, which is not a role for a single client',
    async (role) => {
      const { code, err } = await sh.petrel('grants', role)
      expect([code, err]).toEqual([2, expect.stringContaining('petrel grants worker')])
    },
  )
})
