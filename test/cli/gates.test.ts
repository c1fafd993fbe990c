/** Gates at a shell: lists of open gates, votes with an actor and roles, and links. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { shell } from './petrel.ts'

const sh = shell()

function suite(store: () => string): void {
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())

  async function open(gate: string): Promise<{ id: string; instance: string }> {
    const file = sh.write('gate.yaml', `kind: Net\nversion: 1\nname: pay\nnodes:\n  ok: { gate: ${gate} }\n`)
    const { instance, waiting_for } = (await petrel('run', file, '--json')).json()
    return { id: waiting_for[0].id, instance: instance.id }
  }

  beforeAll(async () => {
    await petrel('migrate')
  })

  it('gates lists open ones, by instance or in any state, and shows the state of one', async () => {
    const { id, instance } = await open('{ title: Pay?, timeout: 3d, options: { quorum: 2, of: [ann, bob, cid] } }')
    expect((await petrel('gates')).out).toMatch(
      new RegExp(`^GATE +NODE +STATE +VOTES +DUE +TITLE\\n${id} +ok +open +0/2 +in .*Pay\\?`),
    )
    expect((await petrel('gates', 'ls', '--instance', instance, '--json')).json().gates).toMatchObject([{ id }])
    expect((await petrel('gates', 'ls', '--state', 'approved', '--instance', instance)).out).toBe('no gates\n')
    await petrel('approve', id, '--as', 'ann', '--reason', 'looks right')
    const { out } = await petrel('gates', 'show', id)
    for (const part of [
      'Pay?  open',
      'approvals  1 of 2',
      'missing    bob, cid',
      'ann approved',
      'looks right',
      'then reject',
    ]) {
      expect(out).toContain(part)
    }
    expect((await petrel('gates', 'show', id, '--json')).json().gate.standing).toMatchObject({ approvals: 1 })
    expect(await petrel('gates', 'ls', '--state', 'new')).toMatchObject({ code: 2 })
    expect(await petrel('gates', 'show', 'nonsense')).toMatchObject({ code: 3 })
  })

  it('approve and reject vote as the user of the shell, or as --as with --role', async () => {
    const { id } = await open('{ options: { roles: [finance], quorum: 2 } }')
    const denied = await petrel('approve', id, '--as', 'bob', '--role', 'sales')
    expect([denied.code, denied.err]).toEqual([
      4,
      expect.stringContaining('takes one of the roles finance; bob has sales'),
    ])
    const first = await petrel('approve', id, '--as', 'ann', '--role', 'ops', 'finance')
    expect([first.code, first.out]).toEqual([0, 'your approval counts; 1 of 2 approvals\n'])
    const again = await petrel('approve', id, '--as', 'ann', '--role', 'finance')
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('ann has approved gate')])
    const last = await petrel('reject', id, '--as', 'cid', '--role', 'finance', '--reason', 'too dear')
    expect([last.code, last.out]).toEqual([0, expect.stringMatching(/^rejected; pay .* is failed\n$/)])
    const plain = await open('Sure?')
    sh.env['USER'] = 'dora'
    const done = (await petrel('approve', plain.id, '--answer', '{"n": 1}', '--json')).json()
    expect(done.gate).toMatchObject({ state: 'approved', answered_by: 'dora', answer: { n: 1 } })
    expect(done.instance.state).toBe('completed')
    expect(await petrel('approve', plain.id)).toMatchObject({ code: 1 })
    expect(await petrel('approve', plain.id, '--answer', '{')).toMatchObject({ code: 2 })
  })

  it('the person who ran the definition is its initiator', async () => {
    sh.env['USER'] = 'dora'
    const { id } = await open('{ options: { excludeInitiator: true } }')
    const own = await petrel('approve', id)
    expect([own.code, own.err]).toEqual([4, expect.stringContaining('dora started this workflow')])
    expect(await petrel('approve', id, '--as', 'ann')).toMatchObject({ code: 0 })
  })

  it('an answer that does not fit the form is refused with the path of the mistake', async () => {
    const { id } = await open('{ options: { form: { type: object, properties: { n: { type: integer } } } } }')
    const wrong = await petrel('approve', id, '--answer', '{"n": "x"}')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('answer.n: must be integer')])
    expect(await petrel('approve', id, '--answer', '{"n": 5}')).toMatchObject({ code: 0 })
  })

  it('a net with invalid gate options is not started', async () => {
    const file = sh.write(
      'wrong.yaml',
      'kind: Net\nversion: 1\nname: w\nnodes:\n  ok: { gate: { options: { quorum: 0 } } }\n',
    )
    const { code, err } = await petrel('run', file)
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('wrong.yaml:5:36: nodes.ok.gate.options.quorum: a whole number'),
    ])
  })

  it('a dry run approves every gate, whatever votes it requires', async () => {
    const text =
      'kind: Net\nversion: 1\nname: d\nnodes:\n  ok: { gate: { options: { quorum: 3, roles: [x], form: false } } }\n'
    expect(await petrel('run', sh.write('dry.yaml', text), '--mock')).toMatchObject({ code: 0 })
  })

  it('link prints a link that the server accepts', async () => {
    const { id } = await open('{ title: Pay?, options: { roles: [finance] } }')
    const server = sh.start('server', '--port', '0', '--store', store())
    const [url] = await server.until(/http:\/\/localhost:\d+/)
    const made = await petrel(
      'link',
      id,
      '--subject',
      'ann',
      '--role',
      'finance',
      '--expires',
      '2h',
      '--url',
      url as string,
    )
    expect(made.err).toContain('The holder of this link decides as ann')
    const page = await fetch(made.out.trim(), { headers: { accept: 'text/html' } })
    expect([page.status, (await page.text()).includes('Pay?')]).toEqual([200, true])
    const body = new URLSearchParams({ decision: 'approve', reason: 'by mail' })
    expect((await fetch(made.out.trim(), { method: 'POST', body, headers: { accept: 'text/html' } })).status).toBe(200)
    const { gate } = (await petrel('gates', 'show', id, '--json')).json()
    expect(gate).toMatchObject({ state: 'approved', answered_by: 'ann', reason: 'by mail' })
    expect(await petrel('link', id, '--subject', 'bob')).toMatchObject({ code: 1 })
    expect(await petrel('link', id)).toMatchObject({ code: 2 })
    expect(await petrel('link', id, '--subject', 'bob', '--expires', 'soon')).toMatchObject({ code: 2 })
    expect(await petrel('link', id, '--subject', 'bob', '--url', 'here')).toMatchObject({ code: 2 })
    server.child.kill('SIGTERM')
    await server.ended
  })
}

describe('gates on SQLite', () => suite(() => 'sqlite:gates.db'))

describe.skipIf(postgresUrl() === null)('gates on Postgres', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())
  suite(() => database.url)
})
