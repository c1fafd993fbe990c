import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyDatabase, type FreshDatabase, postgresUrl } from '../services.ts'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()

function suite(store: () => string): void {
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())

  beforeAll(async () => {
    const handlers = sh.write('handlers.mjs', HANDLERS)
    const chain = (name: string, type: string) =>
      sh.write(`${name}.yaml`, `type: chain\nname: ${name}\nsteps: [{ type: ${type}, retry: 1 }]\n`)
    for (const [name, type] of [
      ['good', 'test.echo'],
      ['bad', 'test.fail'],
      ['bad-too', 'test.fail'],
    ] as const) {
      await petrel('run', chain(name, type), '--handlers', handlers)
    }
    const net = sh.write(
      'ask.yaml',
      'kind: Net\nversion: 1\nname: ask\ntags: [people]\nnodes:\n  ask: { gate: Sure? }\n',
    )
    await petrel('deploy', net, '--tag', 'north')
    await petrel('start', 'ask', '--tag', 'vip', '--input', '{"order": 117}')
  })

  it('ls finds instances by a query, and continues where a page ended', async () => {
    const names = async (...args: string[]) =>
      (await petrel('ls', ...args, '--json')).json().instances.map((i: any) => i.name)
    expect(await names('state:failed')).toEqual(['bad-too', 'bad'])
    expect(await names('state:failed name:bad -name:bad-too')).toEqual(['bad'])
    expect(await names('tag:people tag:north tag:vip input.order:117 has:gate')).toEqual(['ask'])
    const { out } = await petrel('ls', 'state:failed', '--limit', '1')
    const [, next] = /older ones: --before (\S+)/.exec(out) ?? []
    expect(await names('state:failed', '--before', String(next))).toEqual(['bad'])
    expect((await petrel('ls', 'state:failed name:ask')).out).toBe('no instances\n')
  })

  it('ls --counts and runs --counts count what a query finds', async () => {
    expect((await petrel('ls', '--counts')).out).toBe(
      'STATE      COUNT\ncompleted      1\nfailed         2\nwaiting        1\n',
    )
    expect((await petrel('ls', 'name:bad', '--counts', '--json')).json()).toEqual({
      counts: [{ state: 'failed', count: 1, more: false }],
    })
    expect((await petrel('runs', 'type:test.*', '--counts')).out).toBe(
      'STATE      COUNT\nfailed         2\nsucceeded      1\n',
    )
    expect((await petrel('runs', 'type:none', '--counts')).out).toBe('no runs\n')
  })

  it('runs finds runs of any origin', async () => {
    const found = (await petrel('runs', 'status:failed type:test.fail', '--json')).json()
    expect(found.runs.map((r: any) => r.status)).toEqual(['failed', 'failed'])
    expect(found.next_before).toBeNull()
    expect((await petrel('runs', 'status:pending')).out).toBe('no runs\n')
  })

  it('a wrong query exits 2 and says where the mistake is', async () => {
    const { code, err } = await petrel('ls', 'state:failed naem:bad')
    expect(code).toBe(2)
    expect(err).toContain("character 14, 'naem': there is no filter 'naem' for instances; did you mean 'name'?")
    expect(err).toContain('There are: state, name')
    const both = await petrel('ls', 'tag:eu', '--state', 'failed')
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('--state cannot be combined with a query')])
    const place = await petrel('ls', 'tag:eu', '--before', '17')
    expect([place.code, place.err]).toEqual([2, expect.stringContaining("before must be an id, not '17'")])
    const runs = await petrel('runs', 'dead:true', '--queue', 'mail')
    expect([runs.code, runs.err]).toEqual([2, expect.stringContaining('--queue cannot be combined with a query')])
  })
}

describe('queries on the command line (sqlite)', () => suite(() => `sqlite:${sh.dir}/search.db`))

describe.skipIf(postgresUrl() === null)('queries on the command line (postgres)', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await emptyDatabase()
  })
  afterAll(() => database.drop())
  suite(() => database.url)
})
