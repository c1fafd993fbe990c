import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KeychainError, openKeychain } from './keychain.ts'
import type { KeychainEntry } from './program.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petrel-keychain-'))
  await mkdir(join(folder, 'in'))
  await writeFile(
    join(folder, 'in', 'db.json'),
    '{"user":"ann","password":"open-sesame","port":54321,"more":{"pin":["000111"]}}',
  )
  await writeFile(join(folder, 'in', 'api.yaml'), 'token: abc-def\n')
  await writeFile(join(folder, 'in', 'plain'), 'just-text\n')
  await writeFile(join(folder, 'in', 'torn.json'), '{"password":"open-sesame"')
  await writeFile(join(folder, 'in', 'torn.yaml'), 'password: "open-sesame\n')
  await writeFile(join(folder, 'outside.json'), '{}')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const entry = (more: Partial<KeychainEntry>): KeychainEntry => ({
  name: 'db',
  kind: 'env',
  map: null,
  ref: null,
  ...more,
})
const open = (entries: readonly KeychainEntry[], env = {}) => openKeychain(entries, { env, folder: join(folder, 'in') })

async function refused(entries: readonly KeychainEntry[], env = {}): Promise<KeychainError> {
  const problem = await open(entries, env).then(
    () => null,
    (error: unknown) => error,
  )
  expect(problem).toBeInstanceOf(KeychainError)
  return problem as KeychainError
}

describe('environment', () => {
  it('one variable is the entry, a map gives it keys', async () => {
    const env = { TOKEN: 't0ken', PGUSER: 'ann', PGPASSWORD: 'open-sesame', OTHER: 'untouched' }
    const opened = await open(
      [entry({ name: 'api', ref: 'TOKEN' }), entry({ map: { user: 'PGUSER', password: 'PGPASSWORD' } })],
      env,
    )
    expect(opened.entries).toEqual({ api: 't0ken', db: { user: 'ann', password: 'open-sesame' } })
    expect(opened.secrets).toEqual(['t0ken', 'ann', 'open-sesame'])
  })

  it('missing: names entry and variable, as kind auth', async () => {
    for (const env of [{}, { PGPASSWORD: '' }]) {
      const { error } = await refused([entry({ map: { password: 'PGPASSWORD' } })], env)
      expect(error).toEqual({
        kind: 'auth',
        retryable: false,
        code: 'KEYCHAIN_MISSING',
        message: "keychain entry 'db': the environment variable PGPASSWORD is not set where the worker runs",
      })
    }
  })

  it('names of the prototype are no variables', async () => {
    await refused([entry({ ref: 'constructor' })])
  })
})

describe('files', () => {
  it('JSON and YAML give keys, anything else is one text', async () => {
    const entries = [
      entry({ kind: 'file', ref: 'db.json' }),
      entry({ name: 'api', kind: 'file', ref: 'api.yaml' }),
      entry({ name: 'text', kind: 'file', ref: 'plain' }),
      entry({ name: 'part', kind: 'file', ref: 'db.json', map: { pw: 'password' } }),
    ]
    const opened = await open(entries)
    expect(opened.entries).toEqual({
      db: { user: 'ann', password: 'open-sesame', port: 54321, more: { pin: ['000111'] } },
      api: { token: 'abc-def' },
      text: 'just-text',
      part: { pw: 'open-sesame' },
    })
    expect(opened.secrets).toEqual(expect.arrayContaining(['open-sesame', '54321', '000111', 'abc-def', 'just-text']))
  })

  it('missing, torn, outside the folder: said without what is in them', async () => {
    expect((await refused([entry({ kind: 'file', ref: 'none.json' })])).error).toMatchObject({
      code: 'KEYCHAIN_MISSING',
      message: expect.stringContaining('ENOENT'),
    })
    expect((await refused([entry({ kind: 'file', ref: 'db.json', map: { a: 'zz' } })])).message).toContain(
      "has no key 'zz'",
    )
    for (const ref of ['torn.json', 'torn.yaml']) {
      const { message } = await refused([entry({ kind: 'file', ref })])
      expect(message).toBe(`keychain entry 'db': the file ${ref} is not valid ${ref.slice(5)}`)
    }
    for (const ref of ['../outside.json', '/etc/hostname', '.']) {
      expect((await refused([entry({ kind: 'file', ref })])).message).toContain('is not below the folder of secrets')
    }
  })

  it('an entry that names nothing', async () => {
    expect((await refused([entry({})])).error.code).toBe('KEYCHAIN_INVALID')
    expect((await refused([entry({ kind: 'file' })])).error.code).toBe('KEYCHAIN_INVALID')
  })
})
