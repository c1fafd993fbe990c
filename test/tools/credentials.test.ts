import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { call, errorOf, resultOf } from './calling.ts'
import { type Serving, sendJson, serving } from './serving.ts'

const folder = mkdtempSync(join(tmpdir(), 'petrel-credentials-'))
const file = join(folder, 'credentials.yaml')
let server: Serving

beforeAll(async () => {
  server = await serving()
  server.on('/who', (request, response) => sendJson(response, request.headers))
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => {
  for (const name of ['CREDENTIAL_API_MAIN', 'CREDENTIALS_FILE']) delete process.env[`PETREL_${name}`]
})

const tools = { allowPrivate: ['127.0.0.1'] }
const config = () => ({ url: `${server.url}/who`, auth: 'api-main' })
const concealed: string[] = []
const sent = async (): Promise<any> => {
  concealed.length = 0
  return (await resultOf('http', config(), { tools, conceal: (secret) => concealed.push(secret) })).data
}

describe('a credential named by a task', () => {
  it('is a variable of the worker: a text, or a map as JSON', async () => {
    process.env['PETREL_CREDENTIAL_API_MAIN'] = 'T'
    expect((await sent()).authorization).toBe('Bearer T')
    expect(concealed).toEqual(['T'])
    process.env['PETREL_CREDENTIAL_API_MAIN'] = '{ "username": "u", "password": "P" }'
    expect((await sent()).authorization).toBe(`Basic ${btoa('u:P')}`)
    expect(concealed).toEqual(['P'])
  })

  it('is an entry of a file, read again for each task; a variable of its name overrides it', async () => {
    process.env['PETREL_CREDENTIALS_FILE'] = file
    writeFileSync(file, 'api-main: { name: X-Key, value: one }\nother: two\n')
    expect((await sent())['x-key']).toBe('one')
    writeFileSync(file, 'api-main: three\n')
    expect((await sent()).authorization).toBe('Bearer three')
    process.env['PETREL_CREDENTIAL_API_MAIN'] = 'T'
    expect((await sent()).authorization).toBe('Bearer T')
  })

  it('is reported if missing, without the name if that may be a secret', async () => {
    process.env['PETREL_CREDENTIALS_FILE'] = file
    writeFileSync(file, '{}')
    expect(await errorOf('http', config(), { tools })).toMatchObject({
      kind: 'auth',
      code: 'CREDENTIAL_UNKNOWN',
      retryable: false,
      message:
        'there is no credential called "api-main"; workers have them from PETREL_CREDENTIAL_<NAME> or PETREL_CREDENTIALS_FILE',
    })
    const { message } = await errorOf('http', { ...config(), auth: 's3cr3t'.repeat(100) }, { tools })
    expect(message).not.toContain('s3cr3t')
  })

  it.each([
    ['invalid JSON', { PETREL_CREDENTIAL_API_MAIN: '{ s3cr3t' }, null],
    ['invalid YAML', { PETREL_CREDENTIALS_FILE: file }, 'a: [s3cr3t'],
    ['a file that is no map', { PETREL_CREDENTIALS_FILE: file }, '- s3cr3t'],
    ['a file that is not there', { PETREL_CREDENTIALS_FILE: join(folder, 'none.yaml') }, null],
  ])('that is invalid is an error that quotes nothing: %s', async (_what, env, text) => {
    Object.assign(process.env, env)
    if (text !== null) writeFileSync(file, text)
    const error = await errorOf('http', config(), { tools })
    expect(error).toMatchObject({ kind: 'auth', code: 'CREDENTIAL_INVALID', retryable: false })
    expect(error.message).not.toContain('s3cr3t')
  })

  it('belongs to one tenant if it names one: no other run can use it', async () => {
    process.env['PETREL_CREDENTIALS_FILE'] = file
    const all = {
      'api-main': [
        { tenant: 'acme', token: 'A' },
        { tenant: 'globex', token: 'G' },
      ],
      one: { tenant: 'acme', token: 'O' },
    }
    writeFileSync(file, JSON.stringify(all))
    const as = async (tenant: string | undefined, auth: string): Promise<string> => {
      const options = tenant === undefined ? { tools } : { tools, tenant }
      const envelope = await call('http', { ...config(), auth }, options)
      return envelope.error?.code ?? (envelope.result as any).data.authorization
    }
    expect(await as('acme', 'api-main')).toBe('Bearer A')
    expect(await as('globex', 'api-main')).toBe('Bearer G')
    expect(await as('acme', 'one')).toBe('Bearer O')
    for (const [tenant, auth] of [
      ['globex', 'one'],
      ['initech', 'api-main'],
      [undefined, 'api-main'],
      [undefined, 'one'],
    ] as const)
      expect(await as(tenant, auth)).toBe('CREDENTIAL_UNKNOWN')
    process.env['PETREL_CREDENTIAL_API_MAIN'] = '{ "tenant": "globex", "token": "V" }'
    expect(await as('globex', 'api-main')).toBe('Bearer V')
    expect(await as('acme', 'api-main')).toBe('CREDENTIAL_UNKNOWN')
    const { message } = await errorOf('http', config(), { tools, tenant: 'acme' })
    expect(message).toContain(`called "api-main" for tenant 'acme'`)
    process.env['PETREL_CREDENTIAL_API_MAIN'] = '[{ "tenant": "globex", "token": "V" }, { "token": "rest" }]'
    expect(await as('acme', 'api-main')).toBe('Bearer rest')
  })
})
