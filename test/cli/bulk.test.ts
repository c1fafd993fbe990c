/** petrel bulk: previews and orders, ls, show, items, stop, resume, rate, follow. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyDatabase, type FreshDatabase, postgresUrl } from '../services.ts'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()

function suite(store: () => string): void {
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())
  const json = async (...args: readonly string[]) => (await petrel(...args, '--json')).json()

  async function failed(name: string): Promise<string> {
    const handlers = sh.write('handlers.mjs', HANDLERS)
    const flow = sh.write('flow.yaml', `type: chain\nname: ${name}\nsteps: [{ type: test.fail, retry: 1 }]\n`)
    return (await json('run', flow, '--handlers', handlers)).instance.id
  }

  let first: string
  let second: string
  beforeAll(async () => {
    first = await failed('one')
    second = await failed('two')
  })

  it('a dry run shows what would be changed, and changes nothing', async () => {
    const { code, out } = await petrel('bulk', 'retry', 'state:failed', '--dry-run')
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`^retry 2 instances\n  ${second}  two  failed.*\n  ${first}  one  failed.*\n$`))
    const { preview } = await json('bulk', 'cancel', 'state:failed', '--dry-run')
    expect(preview).toMatchObject({ count: 2, refusals: [{ reason: 'it is already failed', count: 2 }] })
    expect((await petrel('bulk')).out).toBe('no bulk operations\n')
  })

  it('asks before it orders; without a terminal it needs --yes', async () => {
    expect(await petrel('bulk', 'retry', 'state:failed')).toMatchObject({
      code: 2,
      err: expect.stringContaining('add --yes, or --dry-run'),
    })
    expect(await petrel('bulk', 'delete', '', '--yes')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/finds everything: 2 instances[\s\S]*--confirm everything/),
    })
    expect((await json('bulk', 'ls')).operations).toEqual([])
  })

  it('orders, stops, resumes, changes the rate, and follows to the end', async () => {
    const { operation } = await json('bulk', 'retry', 'name:one', '--yes', '--rate', '5', '--reason', 'fixed')
    const { id } = operation
    expect(operation).toMatchObject({
      action: 'retry',
      q: 'name:one',
      rate_per_minute: 5,
      reason: 'fixed',
      state: 'running',
    })
    expect((await json('bulk', 'stop', id)).operation.state).toBe('stopped')
    expect(await petrel('bulk', 'stop', id)).toMatchObject({ code: 1, err: expect.stringContaining('stopped already') })
    expect((await petrel('bulk', 'rate', id, 'none')).out).toContain('retry 0')
    expect((await json('bulk', 'resume', id)).operation).toMatchObject({ state: 'running', rate_per_minute: null })
    const followed = await petrel('bulk', 'follow', id)
    expect([followed.code, followed.out]).toEqual([
      0,
      expect.stringMatching(/retry 1 instances {2}completed {2}1 succeeded\n$/),
    ])
    const { items } = await json('bulk', 'items', id)
    expect(items).toMatchObject([{ id: first, state: 'succeeded', new_id: expect.any(String) }])
    expect((await json('show', items[0].new_id)).instance.retry_of).toBe(first)
    expect((await petrel('bulk', 'show', id)).out).toMatch(
      /^retry 1 instances[\s\S]*query +name:one\nreason +fixed\nby /,
    )
    expect((await petrel('bulk', 'ls', '--state', 'completed')).out).toMatch(
      new RegExp(`^OPERATION[\\s\\S]*${id} {2}retry instances`),
    )
  })

  it('follow exits 1 if an item was refused, and says why in its items', async () => {
    const { code, out } = await petrel('bulk', 'retry', 'name:one state:failed', '--yes', '--follow')
    expect([code, out]).toEqual([1, expect.stringContaining('1 refused')])
    const [{ id }] = (await json('bulk')).operations
    expect((await petrel('bulk', 'items', id, '--state', 'refused')).out).toMatch(
      /duplicate +instance .* was retried by/,
    )
  })

  it('pauses and resumes instances: resume takes a query, too', async () => {
    const flow = sh.write('gate.yaml', 'type: chain\nname: waits\nsteps: [{ type: not.handled }]\n')
    await petrel('run', flow)
    const paused = await json('bulk', 'pause', 'name:waits', '--timeouts', 'run', '--yes', '--follow')
    expect(paused.operation).toMatchObject({ action: 'pause', succeeded: 1 })
    const resumed = await json('bulk', 'resume', 'name:waits', '--yes', '--follow')
    expect(resumed.operation).toMatchObject({ action: 'resume', succeeded: 1 })
  })

  it('deletes instances, and acts on runs', async () => {
    expect((await petrel('bulk', 'delete', 'name:two', '--yes', '--follow')).code).toBe(0)
    expect((await petrel('show', second)).code).toBe(3)
    await petrel('submit', 'mail.send.v1', '{}')
    const followed = await petrel('bulk', 'cancel', 'type:mail.send.v1', '--runs', '--yes', '--follow', '--json')
    expect(followed.json().operation).toMatchObject({ target: 'runs', succeeded: 1 })
    const redriven = await json('bulk', 'redrive', 'type:mail.send.v1', '--yes', '--follow')
    expect(redriven.operation).toMatchObject({ action: 'redrive', target: 'runs', succeeded: 1 })
  })

  it('names what is wrong', async () => {
    expect(await petrel('bulk', 'retry', 'sate:failed', '--yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining("did you mean 'state'?"),
    })
    expect(await petrel('bulk', 'show', '01890000-0000-7000-8000-000000000000')).toMatchObject({
      code: 3,
      err: expect.stringContaining('`petrel bulk ls` lists them'),
    })
    expect((await petrel('bulk', 'ls', '--state', 'ended')).err).toContain('states: running, stopped, completed')
    expect((await petrel('bulk', 'cancel', 'state:failed', '--rate', '0', '--yes')).err).toContain('from 1 to 60000')
  })
}

describe('petrel bulk on sqlite', () => suite(() => `sqlite:${sh.dir}/petrel.db`))

describe.skipIf(postgresUrl() === null)('petrel bulk on postgres', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await emptyDatabase()
  })
  afterAll(() => database.drop())
  suite(() => database.url)
})
