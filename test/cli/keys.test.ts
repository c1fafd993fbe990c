import { describe, expect, it } from 'vitest'
import { type Running, shell } from './petrel.ts'

const sh = shell()

async function stop(service: Running): Promise<number | null> {
  service.child.kill('SIGTERM')
  return (await service.ended).code
}

async function listening(...args: readonly string[]): Promise<{ readonly service: Running; readonly url: string }> {
  const service = sh.start('server', '--port', '0', ...args)
  const [, port] = await service.until(/listening on http:\/\/[^:]+:(\d+)/)
  return { service, url: `http://127.0.0.1:${port}` }
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

describe('petrel keys', () => {
  it('prints a new key once, lists it without its secret, and revokes it', async () => {
    expect((await sh.petrel('keys', 'ls', '--data', 'k')).code).toBe(3)
    const made = await sh.petrel('keys', 'add', '--subject', 'ci', '--scope', 'read,enqueue', '--data', 'k')
    expect([made.code, made.out]).toEqual([0, expect.stringMatching(/^petrel_[0-9a-f]{16}_[\w-]{43}\n$/)])
    expect(made.err).toContain('shown once')
    const key = made.out.trim()
    const id = key.split('_')[1] as string
    const listed = await sh.petrel('keys', 'ls', '--data', 'k')
    expect(listed.out).toMatch(new RegExp(`${id} +ci +read, enqueue +– +.* +good`))
    expect(listed.out).not.toContain(key.slice(-43))
    expect((await sh.petrel('keys', 'revoke', id, '--data', 'k')).code).toBe(0)
    expect((await sh.petrel('keys', 'ls', '--data', 'k')).out).toMatch(/revoked/)
    expect(await sh.petrel('keys', 'revoke', id, '--data', 'k')).toMatchObject({
      code: 1,
      err: expect.stringContaining('was revoked before'),
    })
    expect((await sh.petrel('keys', 'revoke', 'nope', '--data', 'k')).code).toBe(3)
  })

  it('as JSON, with tenant, roles and expiry', async () => {
    const args = [
      '--scope',
      'work',
      '--tenant',
      'acme',
      '--role',
      'approver',
      '--expires',
      '90d',
      '--data',
      'j',
      '--json',
    ]
    const made = (await sh.petrel('keys', 'add', '--subject', 'w', ...args)).json()
    expect(made).toMatchObject({ subject: 'w', scopes: ['work'], tenant: 'acme', roles: ['approver'] })
    expect(made.key).toMatch(/^petrel_/)
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(90 * 86_400_000)
    const { keys } = (await sh.petrel('keys', 'ls', '--data', 'j', '--json')).json()
    expect(keys).toMatchObject([{ id: made.id, subject: 'w' }])
    expect(keys[0].hash).toBe(undefined)
  })

  it.each([
    [['--subject', 'x'], 'scope'],
    [['--scope', 'read'], 'subject'],
    [['--subject', 'x', '--scope', 'dance'], "there is no scope 'dance'"],
    [['--subject', 'x', '--scope', 'read', '--expires', 'soon'], 'such as 12h or 90d'],
  ])('keys add %j: exit 2', async (args, message) => {
    const { code, err } = await sh.petrel('keys', 'add', ...args, '--data', 'bad')
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('petrel server on a public address', () => {
  it('does not start without a key: exit 4, with the remedy', async () => {
    const { code, err } = await sh.petrel('server', '--port', '0', '--host', '0.0.0.0', '--data', 'open')
    expect(code).toBe(4)
    expect(err).toMatch(/every request needs an API key, and the store has none\n {2}`petrel keys add/)
    expect(err).toContain('--insecure')
  })

  it('starts with a key, and requires it', async () => {
    const { key } = (
      await sh.petrel('keys', 'add', '--subject', 'x', '--scope', 'read', '--data', 'closed', '--json')
    ).json()
    const { service, url } = await listening('--host', '0.0.0.0', '--data', 'closed')
    expect((await fetch(`${url}/v1/instances`)).status).toBe(401)
    expect((await fetch(`${url}/v1/instances`, bearer(key))).status).toBe(200)
    expect((await fetch(`${url}/ojs/v1/health`)).status).toBe(200)
    expect(await stop(service)).toBe(0)
  })

  it('--insecure opens access with a warning; --require-key closes it locally too', async () => {
    const open = await listening('--host', '0.0.0.0', '--insecure', '--data', 'insecure')
    expect((await fetch(`${open.url}/v1/instances`)).status).toBe(200)
    await open.service.until(/anyone who can reach 0\.0\.0\.0/)
    expect(await stop(open.service)).toBe(0)
    const none = await sh.petrel('server', '--port', '0', '--require-key', '--data', 'insecure')
    expect(none.code).toBe(4)
    const both = await sh.petrel('server', '--port', '0', '--require-key', '--insecure', '--data', 'insecure')
    expect(both.code).toBe(2)
  })
})

describe('petrel server', () => {
  it('refuses a reset unless --allow-reset is given', async () => {
    const closed = await listening('--data', 'reset')
    const refused = await fetch(`${closed.url}/ojs/v1/admin/reset`, { method: 'POST' })
    expect(refused.status).toBe(403)
    expect(((await refused.json()) as any).error.hint).toContain('--allow-reset')
    await stop(closed.service)
    const open = await listening('--data', 'reset', '--allow-reset')
    await open.service.until(/wipes the store \(--allow-reset\)/)
    expect((await fetch(`${open.url}/ojs/v1/admin/reset`, { method: 'POST' })).status).toBe(200)
    await stop(open.service)
  })

  it('--rate-limit and --max-body', async () => {
    const { service, url } = await listening('--data', 'limits', '--rate-limit', '2', '--max-body', '65536')
    const large = await fetch(`${url}/ojs/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'x', args: ['x'.repeat(70_000)] }),
    })
    expect(large.status).toBe(413)
    await fetch(`${url}/ojs/v1/queues`)
    expect((await fetch(`${url}/ojs/v1/queues`)).status).toBe(429)
    expect(await stop(service)).toBe(0)
  })
})
