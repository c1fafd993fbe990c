import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KeychainError, openKeychain } from './keychain.ts'
import type { KeychainEntry } from './program.ts'
import { type SecretSources, Secrets } from './secret-sources.ts'

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
const open = (entries: readonly KeychainEntry[], variables = {}) =>
  openKeychain(entries, new Secrets({ env: true, dir: join(folder, 'in'), variables }), null)

async function refusal(opening: Promise<unknown>): Promise<KeychainError> {
  const problem = await opening.then(
    () => null,
    (error: unknown) => error,
  )
  expect(problem).toBeInstanceOf(KeychainError)
  return problem as KeychainError
}

const refused = (entries: readonly KeychainEntry[], variables = {}) => refusal(open(entries, variables))

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

  it('a missing one: names entry and variable, as kind auth', async () => {
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

  it('names of the prototype are not variables', async () => {
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

  it('missing, truncated, outside the directory: reported without the content', async () => {
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
      const { error } = await refused([entry({ kind: 'file', ref })])
      expect(error).toMatchObject({ kind: 'auth', code: 'KEYCHAIN_FORBIDDEN', retryable: false })
      expect(error.message).toContain('it is not below the directory of secrets')
    }
  })

  it('an entry that names nothing', async () => {
    expect((await refused([entry({})])).error.code).toBe('KEYCHAIN_INVALID')
    expect((await refused([entry({ kind: 'file' })])).error.code).toBe('KEYCHAIN_INVALID')
  })
})

describe('allowed sources', () => {
  const variables = { APP_TOKEN: 'app', ACME_TOKEN: 'acme', GLOBEX_TOKEN: 'globex', HOME: '/root' }
  const read = (ref: string, sources: SecretSources, tenant: string | null = null) =>
    openKeychain([entry({ ref })], new Secrets({ variables, ...sources }), tenant)

  it('no variable and no file unless allowed, and the message names the option', async () => {
    const { error } = await refusal(read('HOME', {}))
    expect(error).toEqual({
      kind: 'auth',
      retryable: false,
      code: 'KEYCHAIN_FORBIDDEN',
      message:
        "keychain entry 'db': this worker does not give out the environment variable HOME; its operator allows it with --secrets-env HOME (PETREL_SECRETS_ENV, or secrets.env of a program)",
    })
    const file = openKeychain([entry({ kind: 'file', ref: '/etc/hostname' })], new Secrets({}), null)
    expect((await refusal(file)).error).toMatchObject({
      code: 'KEYCHAIN_FORBIDDEN',
      message: expect.stringContaining('--secrets-dir DIR'),
    })
  })

  it('variables by name and by pattern, matching the whole name', async () => {
    const sources = { env: ['APP_*', 'ACME_TOKEN'] }
    expect((await read('APP_TOKEN', sources)).entries).toEqual({ db: 'app' })
    expect((await read('ACME_TOKEN', sources)).entries).toEqual({ db: 'acme' })
    for (const ref of ['HOME', 'GLOBEX_TOKEN', 'ACME_TOKEN2', 'XAPP_TOKEN'])
      expect((await refusal(read(ref, sources))).error.code).toBe('KEYCHAIN_FORBIDDEN')
    expect(() => new Secrets({ env: ['A B'] })).toThrow('names no environment variable')
    expect(() => new Secrets({ env: [':A'] })).toThrow('names no environment variable')
  })

  it('by the environment of the worker if no option is given', async () => {
    Object.assign(process.env, { PETREL_SECRETS_ENV: 'APP_*, acme:ACME_*', PETREL_SECRETS_DIR: join(folder, 'in') })
    try {
      expect((await read('APP_TOKEN', {})).entries).toEqual({ db: 'app' })
      const file = openKeychain([entry({ kind: 'file', ref: 'plain' })], new Secrets({}), null)
      expect((await file).entries).toEqual({ db: 'just-text' })
      await refusal(read('ACME_TOKEN', {}))
    } finally {
      delete process.env['PETREL_SECRETS_ENV']
      delete process.env['PETREL_SECRETS_DIR']
    }
  })

  it("a tenant's variables only in its own runs", async () => {
    const sources = { env: ['APP_*', 'acme:ACME_*', 'globex:GLOBEX_*'] }
    expect((await read('ACME_TOKEN', sources, 'acme')).entries).toEqual({ db: 'acme' })
    expect((await read('APP_TOKEN', sources, 'acme')).entries).toEqual({ db: 'app' })
    for (const tenant of ['globex', 'acme:ACME', '', null]) {
      const { error } = await refusal(read('ACME_TOKEN', sources, tenant))
      expect(error.code).toBe('KEYCHAIN_FORBIDDEN')
    }
  })

  it("a tenant's files only in its own runs: below the subdirectory of its name", async () => {
    const dir = join(folder, 'tenants')
    for (const tenant of ['acme', 'globex']) {
      await mkdir(join(dir, tenant), { recursive: true })
      await writeFile(join(dir, tenant, 'token'), `of-${tenant}`)
    }
    const file = (ref: string, tenant: string | null) =>
      openKeychain([entry({ kind: 'file', ref })], new Secrets({ dir }), tenant)
    expect((await file('token', 'acme')).entries).toEqual({ db: 'of-acme' })
    expect((await file('token', 'globex')).entries).toEqual({ db: 'of-globex' })
    expect((await file('acme/token', null)).entries).toEqual({ db: 'of-acme' })
    for (const [ref, tenant] of [
      ['../globex/token', 'acme'],
      [join(dir, 'globex', 'token'), 'acme'],
      ['token', 'initech'],
      ['acme/token', '..'],
      ['acme/token', '.'],
      ['token', 'acme/'],
      ['token', 'globex/../acme'],
    ] as const) {
      expect((await refusal(file(ref, tenant))).error.code).toBe('KEYCHAIN_FORBIDDEN')
    }
  })

  it('links that leave the directory are not followed, links inside it are', async () => {
    const dir = join(folder, 'links')
    await mkdir(join(dir, '..data'), { recursive: true })
    await writeFile(join(dir, '..data', 'token'), 'mounted')
    await symlink(join('..data', 'token'), join(dir, 'token'))
    await symlink('/etc/hostname', join(dir, 'out'))
    await symlink('/etc', join(dir, 'etc'))
    await symlink(folder, join(dir, 'up'))
    const file = (ref: string) => openKeychain([entry({ kind: 'file', ref })], new Secrets({ dir }), null)
    expect((await file('token')).entries).toEqual({ db: 'mounted' })
    for (const ref of ['out', 'etc/hostname', 'up/outside.json'])
      expect((await refusal(file(ref))).error.code).toBe('KEYCHAIN_FORBIDDEN')
    // A directory is not a file, and a pipe is not waited for.
    expect((await refusal(file('..data'))).error.code).toBe('KEYCHAIN_INVALID')
  })

  it('a link that is replaced while it is read never leads outside', async () => {
    const dir = join(folder, 'race')
    await mkdir(dir)
    await writeFile(join(dir, 'inside'), 'inside')
    await writeFile(join(folder, 'outside-secret'), 'outside')
    const [good, bad, link] = [join(dir, 'good'), join(dir, 'bad'), join(dir, 'link')]
    let over = false
    const swapping = (async () => {
      while (!over) {
        for (const [at, to] of [
          [good, join(dir, 'inside')],
          [bad, join(folder, 'outside-secret')],
        ] as const) {
          await symlink(to, at)
          await rename(at, link)
        }
      }
    })()
    const seen = new Set<string>()
    for (let n = 0; n < 300; n++) {
      await openKeychain([entry({ kind: 'file', ref: 'link' })], new Secrets({ dir }), null).then(
        ({ entries }) => seen.add(String(entries['db'])),
        ({ error }: KeychainError) => seen.add(String(error.code)),
      )
    }
    over = true
    await swapping
    expect([...seen]).not.toContain('outside')
  })
})
