import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyDatabase, type FreshDatabase, postgresUrl } from '../services.ts'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()

function suite(store: () => string): void {
  let handlers: string
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())
  const run = async (text: string) =>
    (await petrel('run', sh.write('flow.yaml', text), '--handlers', handlers, '--json')).json()

  beforeAll(() => {
    handlers = sh.write('handlers.mjs', HANDLERS)
  })

  it('migrate lists the migrations it applied, and none the second time', async () => {
    const first = await petrel('migrate', '--json')
    expect(first.code).toBe(0)
    expect(first.json().applied.length).toBeGreaterThan(0)
    const second = await petrel('migrate')
    expect(second.out).toContain('nothing to do')
    expect(second.out).not.toMatch(/:[^*/@]+@/)
  })

  it('ls filters, pages and shows a table', async () => {
    for (const name of ['one', 'two', 'two']) await run(`type: chain\nname: ${name}\nsteps: [{ type: test.echo }]\n`)
    const rows = (await petrel('ls', '--json')).json().instances
    expect(rows.map((r: any) => r.name)).toEqual(['two', 'two', 'one'])
    expect((await petrel('ls', '--json', '--limit', '1', '--before', rows[0].id)).json().instances).toMatchObject([
      { id: rows[1].id },
    ])
    expect(
      (await petrel('ls', '--json', '--name', 'one', '--state', 'completed,failed')).json().instances,
    ).toHaveLength(1)
    expect((await petrel('ls', '--state', 'failed')).out).toBe('no instances\n')
    expect(await petrel('ls', '--state', 'done')).toMatchObject({
      code: 2,
      err: expect.stringContaining("there is no state 'done'"),
    })
    expect((await petrel('ls')).out).toMatch(
      /^ID +NAME +STATE +DONE +FAILED +CREATED +TOOK\n[0-9a-f-]{36} {2}two +completed +1 +0 /,
    )
  })

  it('show prints runs, results, errors and events of an instance, and the history of a run', async () => {
    const { instance, runs } = await run(
      'type: chain\nname: shown\nsteps: [{ type: test.echo, args: [1] }, { type: test.fail, retry: 1 }]\n',
    )
    const { code, out } = await petrel('show', instance.id, '--events')
    expect(code).toBe(0)
    expect(out).toMatch(/^shown {2}failed/)
    expect(out).toMatch(/^0 +test\.echo +succeeded +1 +\d+ ms +\[1\]$/m)
    expect(out).toMatch(/^1 +test\.fail +failed +1 +\d+ ms +broken$/m)
    expect(out).toContain('instance.failed')
    const history = (await petrel('show', runs[1].id, '--json')).json()
    expect(history.run).toMatchObject({ type: 'test.fail', status: 'failed' })
    expect(history.history.map((e: any) => e.type)).toEqual(['created', 'leased', 'started', 'failed'])
  })

  it('retry starts a new instance that keeps the completed steps', async () => {
    const { instance } = await run(
      'type: chain\nname: again\nsteps: [{ type: test.echo, args: [1] }, { type: test.fail, retry: 1 }]\n',
    )
    const { code, json } = await petrel('retry', instance.id, '--json')
    expect(code).toBe(0)
    expect(json()).toMatchObject({ retry_of: instance.id, created: true })
    const shown = (await petrel('show', json().id, '--json')).json()
    expect(shown.instance.retry_of).toBe(instance.id)
    expect(shown.results[0]).toEqual([1])
    expect(await petrel('retry', json().id)).toMatchObject({ code: 1 })
  })

  it('retry goes back to a step with edited arguments; --dry-run only lists; fork copies a completed instance', async () => {
    const { instance } = await run(
      'type: chain\nname: back\nsteps: [{ type: test.echo, args: [1] }, { type: test.echo, args: [2] }, { type: test.fail, retry: 1 }]\n',
    )
    const dry = await petrel('retry', instance.id, '--from', '1', '--dry-run')
    expect(dry.out).toMatch(/^1 +1 {2}again +it was named$/m)
    expect(dry.out).toMatch(/^0 +1 {2}carried over/m)
    expect((await petrel('retry', instance.id, '--from', '1', '--dry-run', '--json')).json()).toMatchObject({
      counts: { runs_again: 2, carried_over: 1 },
    })
    const { json } = await petrel('retry', instance.id, '--from', '1#1', '--args', '[3]', '--json')
    const shown = (await petrel('show', json().id, '--json')).json()
    expect(shown.runs.map((r: any) => [r.node, r.status])).toEqual([
      ['0', 'succeeded'],
      ['1', 'pending'],
    ])
    for (const [place, message] of [
      ['2#2', 'has begun once'],
      ['x', "there is no step 'x'"],
      ['1/0', 'is not a list'],
      ['1#0', 'is not a place'],
    ]) {
      const refused = await petrel('retry', instance.id, '--from', place as string)
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(message as string)])
    }
    const { instance: done } = await run('type: chain\nname: whole\nsteps: [{ type: test.echo, args: [1] }]\n')
    const fork = (await petrel('fork', done.id, '--json')).json()
    expect(fork).toMatchObject({ retry_of: done.id, created: true })
    expect(await petrel('fork', fork.id)).toMatchObject({ code: 1, err: expect.stringContaining('still running') })
  })

  it('retry-now makes a run due that is due later, and refuses it a second time', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString()
    const id = (await petrel('submit', 'later.v1', '{}', '--run-at', at, '--json')).json().run?.id
    expect((await petrel('retry-now', id)).out).toContain('is due since')
    expect(await petrel('retry-now', id)).toMatchObject({ code: 1, err: expect.stringContaining('is available') })
  })

  it('cancel ends pending work; a second cancel is refused', async () => {
    const { instance } = await run('kind: Net\nversion: 1\nname: waits\nnodes:\n  ask: { gate: Sure? }\n')
    const { code, json } = await petrel('cancel', instance.id, '--json')
    expect(code).toBe(0)
    expect(json().instance.state).toBe('cancelled')
    const again = await petrel('cancel', instance.id)
    expect([again.code, again.err.split('\n').length]).toEqual([1, expect.any(Number)])
    expect((await petrel('watch', instance.id)).code).toBe(1)
  })

  it('queues can be paused and resumed; why names the paused queue', async () => {
    expect((await petrel('queues', '--pause', 'default')).out).toMatch(/default +paused/)
    const { waiting_for } = await run('type: chain\nname: paused\nsteps: [{ type: test.echo }]\n')
    expect(waiting_for).toMatchObject([{ kind: 'queue', id: 'default' }])
    const { json } = await petrel('queues', '--resume', 'default', '--json')
    expect(json().queues).toMatchObject([{ name: 'default', paused: false, pending: expect.any(Number) }])
  })

  it('dead letters can be listed and redriven', async () => {
    await run(
      'type: chain\nname: dead\nsteps: [{ type: test.fail, retry: { max_attempts: 1, on_exhaustion: dead_letter } }]\n',
    )
    const [letter] = (await petrel('dead', '--json')).json().runs
    expect(letter).toMatchObject({ type: 'test.fail', dead_letter: true, error: { message: 'broken' } })
    expect((await petrel('dead')).out).toContain(letter.id)
    // Its workflow has ended and its record is kept, so the redriven run is independent of it.
    const { run: again } = (await petrel('redrive', letter.id, '--json')).json()
    expect(again).toMatchObject({ type: 'test.fail', status: 'pending', attempt: 0, instance_id: null })
    expect(again.id).not.toBe(letter.id)
    expect((await petrel('dead')).out).toBe('no dead letters\n')
    // The run fails again; the instance, which has ended, does not change.
    const worker = sh.start('worker', '--handlers', handlers, '--store', store())
    while (!(await petrel('dead')).out.includes(again.id)) expect(worker.child.exitCode).toBe(null)
    worker.child.kill('SIGTERM')
    await worker.ended
    expect((await petrel('show', letter.instance_id, '--json')).json().instance.state).toBe('failed')
  })

  it('doctor finds nothing', async () => {
    const { code, json } = await petrel('doctor', '--json')
    expect(json()).toMatchObject({ healthy: true, findings: [] })
    expect(code).toBe(0)
    expect((await petrel('doctor')).out).toContain('nothing found')
  })
}

describe('on SQLite', () => suite(() => 'sqlite:operate.db'))

describe.skipIf(postgresUrl() === null)('on Postgres', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await emptyDatabase()
  })
  afterAll(() => database.drop())

  it('a database that was never migrated is reported', async () => {
    const { code, err } = await sh.petrel('ls', '--store', database.url)
    expect([code, err]).toEqual([2, expect.stringContaining('petrel migrate')])
  })

  suite(() => database.url)

  it('an unreachable server: the problem, the remedy, exit code 1', async () => {
    const { code, err } = await sh.petrel('ls', '--store', 'postgres://nobody@127.0.0.1:1/none')
    expect(code).toBe(1)
    expect(err).toMatch(/^petrel: .*\n {2}is the database up/)
  })
})
