import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyDatabase, type FreshDatabase, postgresUrl } from '../services.ts'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()

function suite(store: () => string): void {
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())
  let fail: () => Promise<unknown>
  let fingerprint: string

  beforeAll(async () => {
    const handlers = sh.write('handlers.mjs', HANDLERS)
    const chain = sh.write('bad.yaml', 'type: chain\nname: bad\nsteps: [{ type: test.fail, retry: 1 }]\n')
    fail = () => petrel('run', chain, '--handlers', handlers)
    await fail()
    fingerprint = (await petrel('errors', '--json')).json().groups[0].fingerprint
  })

  it('ls shows the groups, show one of them', async () => {
    expect((await petrel('errors')).out).toMatch(
      /^GROUP +STATE +COUNT +LAST +TYPE +CODE +MESSAGE\n[0-9a-f]{16} +open +1 .* test\.fail +\S+ +broken\n$/,
    )
    expect((await petrel('errors', 'ls', 'nothing')).out).toBe('no errors\n')
    expect((await petrel('errors', 'BROKEN', '--state', 'open', '--json')).json().groups).toHaveLength(1)
    const { out } = await petrel('errors', 'show', fingerprint)
    expect(out).toMatch(/^test\.fail {2}open\n/)
    expect(out).toContain('workflows bad')
    expect(out).toContain(`petrel ls 'group:${fingerprint}'`)
    expect((await petrel('errors', 'show', fingerprint, '--json')).json().example.type).toBe('test.fail')
    expect((await petrel('ls', `group:${fingerprint}`, '--json')).json().instances).toHaveLength(1)
  })

  it('resolve, ignore and reopen change the state', async () => {
    expect((await petrel('errors', 'resolve', fingerprint, '--reason', 'v2')).out).toBe(`${fingerprint} is resolved\n`)
    await fail()
    expect((await petrel('errors')).out).toContain('regressed')
    expect((await petrel('errors', 'ignore', fingerprint, '--times', '10')).out).toBe(
      `${fingerprint} is ignored until it has recurred 10 times\n`,
    )
    expect((await petrel('errors', 'ignore', fingerprint, '--for', '7d', '--json')).json().group).toMatchObject({
      state: 'ignored',
      ignored_until: expect.any(String),
    })
    expect((await petrel('errors', 'reopen', fingerprint)).out).toBe(`${fingerprint} is open\n`)
    const { out } = await petrel('errors', 'show', fingerprint)
    expect(out).toMatch(/\n {2}20\S+ \S+Z {2}open by [^\n]+\n {2}20\S+ \S+Z {2}ignored by /)
    expect(out).toMatch(/open by a failure\n.* resolved by [^\n]+: v2\n/)
    expect((await petrel('workers')).out).toMatch(/^WORKER +BUILD +STATE +ACTIVE +OF +RUNTIME +HEARTBEAT\n/)
  })

  it('what is wrong is explained', async () => {
    const none = await petrel('errors', 'resolve', '0123456789abcdef')
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('there is no error group 0123456789abcdef')])
    const neither = await petrel('errors', 'ignore', fingerprint)
    expect([neither.code, neither.err]).toEqual([2, expect.stringContaining('exactly one of times')])
    const state = await petrel('errors', '--state', 'closed')
    expect([state.code, state.err]).toEqual([2, expect.stringContaining("state cannot be 'closed'")])
  })
}

describe('errors on the command line (sqlite)', () => suite(() => `sqlite:${sh.dir}/errors.db`))

describe.skipIf(postgresUrl() === null)('errors on the command line (postgres)', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await emptyDatabase()
  })
  afterAll(() => database.drop())
  suite(() => database.url)
})
