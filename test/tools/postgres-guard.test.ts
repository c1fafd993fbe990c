/** Databases that a playbook names by their address: checked like the URLs of http, before any connection. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ToolsOptions } from '../../src/tools/tools.ts'
import { errorOf } from './calling.ts'

const folder = mkdtempSync(join(tmpdir(), 'petrel-pg-guard-'))
const socket = join(folder, '.s.PGSQL.5432')
const secret = join(folder, 'secret.pem')
let connected = 0
const servers: Server[] = []
let port = 0

/** Refuses every connection, as PostgreSQL does. */
const refuse = (peer: Socket): void => {
  connected++
  peer.on('error', () => {})
  peer.end(Buffer.from('E\0\0\0\x1cSFATAL\0C28000\0Mgo away\0\0'))
}

beforeAll(async () => {
  writeFileSync(secret, 'PRIVATE KEY')
  for (const where of [{ port: 0, host: '127.0.0.1' }, { path: socket }]) {
    const server = createServer(refuse)
    await new Promise<void>((resolve) => server.listen(where, resolve))
    servers.push(server)
  }
  port = (servers[0]!.address() as { port: number }).port
})
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  connected = 0
})

const asked = (auth: unknown, tools: ToolsOptions = {}) =>
  errorOf('postgres', { query: 'SELECT 1', auth: auth as string, timeout: 5 }, { tools })
const named = { resolve: async () => [{ address: '127.0.0.1', family: 4 }] }

describe('refused unless the operator allows it', () => {
  it.each([
    ['an address', () => ({ host: '127.0.0.1', port, user: 'u' }), {}],
    ['a URL', () => `postgres://u@127.0.0.1:${port}/x`, {}],
    ['a URL that names another host', () => `postgres://u@192.0.2.1/x?host=127.0.0.1&port=${port}`, {}],
    ['a URL without a host', () => `postgres:///x?port=${port}`, {}],
    ['this machine by name', () => ({ host: 'localhost', port, user: 'u' }), {}],
    ['another spelling', () => ({ host: '127.1', port, user: 'u' }), {}],
    ['IPv4 within IPv6', () => ({ host: '::ffff:127.0.0.1', port, user: 'u' }), {}],
    ['a name with a private address', () => ({ host: 'db.example.com', port, user: 'u' }), named],
    ['metadata of a cloud', () => ({ host: '169.254.169.254', port: 80, user: 'u' }), {}],
    ['a socket', () => ({ host: folder, user: 'u' }), {}],
    ['a socket in a URL', () => `postgres://u@${encodeURIComponent(folder)}/x`, {}],
    ['a socket as a parameter', () => `postgres://u@example.com/x?host=${folder}`, {}],
    ['a socket next to an allowed one', () => ({ host: folder, user: 'u' }), { allowDatabases: [`${folder}2`] }],
  ] as const)('%s', async (_what, auth, tools) => {
    expect(await asked(auth(), tools)).toMatchObject({
      kind: 'client_error',
      code: 'SSRF_BLOCKED',
      retryable: false,
      message: expect.stringContaining('--postgres-allow'),
    })
    expect(connected).toBe(0)
  })

  it.each(['sslcert', 'sslkey', 'sslrootcert', 'service', 'passfile', 'stream'])('parameter %s', async (name) => {
    const error = await asked(`postgres://u@127.0.0.1:${port}/x?${name}=${secret}`, { allowDatabases: ['127.0.0.1'] })
    expect(error).toMatchObject({ code: 'PARAMETER_BLOCKED', message: expect.stringContaining(`parameter ${name}`) })
    expect(connected).toBe(0)
  })

  it('a script that is not a .sql file', async () => {
    const script = { uri: secret, source: { type: 'file' } }
    for (const kind of ['postgres', 'duckdb']) {
      const more = kind === 'postgres' ? { auth: { host: '127.0.0.1', port, user: 'u' } } : {}
      const error = await errorOf(kind, { script, ...more })
      expect(error).toMatchObject({ code: 'SCRIPT_NOT_FOUND', message: `script ${secret} is no .sql file` })
    }
  })
})

describe('allowed', () => {
  it.each([
    ['an address', (): unknown => ({ host: '127.0.0.1', port, user: 'u' }), { allowDatabases: ['127.0.0.1'] }],
    [
      'a network',
      (): unknown => `postgres://u@127.0.0.1:${port}/x?sslmode=disable`,
      { allowDatabases: ['127.0.0.0/8'] },
    ],
    ['a name', (): unknown => ({ host: 'db.internal', port, user: 'u' }), { ...named, allowDatabases: ['*.internal'] }],
    ['a socket', (): unknown => ({ host: folder, user: 'u' }), { allowDatabases: [folder] }],
    ['all', (): unknown => `postgres://u@127.0.0.1:${port}/x`, { allowDatabases: true }],
    [
      'a credential of the operator',
      (): unknown => 'ledger',
      { credentials: () => `postgres://u@127.0.0.1:${port}/x` },
    ],
  ] as const)('%s', async (_what, auth, tools) => {
    expect(await asked(auth(), tools as ToolsOptions)).toMatchObject({ code: 'PG_28000' })
    expect(connected).toBe(1)
  })
})
