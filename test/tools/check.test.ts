import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/tools/tool.ts'
import { Tools } from '../../src/tools/tools.ts'

const tools = Tools.standard()
const check = (kind: string, config: Fields) => tools.find(kind)!.check(config)
/** Errors and warnings as short lines. */
const recorded = (kind: string, config: Fields) =>
  check(kind, config).map(({ path, message, warning }) => `${warning ? 'warning ' : ''}${path.join('.')}: ${message}`)

describe('a task with valid fields', () => {
  it.each<[string, Fields]>([
    ['noop', {}],
    ['noop', { result: { a: 1 } }],
    ['http', { url: 'https://example.com' }],
    ['http', { method: '{{ method }}', endpoint: '{{ base }}/x', headers: '{{ headers }}', timeout: '{{ t }}' }],
    ['http', { url: 'https://a.b', data: { query: { a: 1 } }, payload: { b: 1 }, timeout: { connect: 1, read: 5 } }],
    ['http', { url: 'https://a.b', auth: { type: 'bearer', token: '{{ keychain.api.token }}' }, verify_ssl: false }],
    ['http', { url: 'https://a.b', auth: 'named', method: 'POST', form: { a: 1 }, follow_redirects: true }],
    ['shell', { cmds: ['echo {{ name }}'], env: { A: 1 }, cwd: '/tmp', timeout_seconds: 5 }],
    ['shell', { cmds: '{{ commands }}' }],
    ['python', { code: 'result = 1', libs: { np: 'numpy' }, auth: { KEY: '{{ keychain.k }}' } }],
    ['python', { script: { uri: '{{ path }}', source: { type: 'file' } } }],
    ['python', { script: { uri: 'inline', source: { type: 'inline', code: '{{ code }}' } } }],
    ['javascript', { code: 'return 1', timeout: 1.5 }],
    ['postgres', { auth: '{{ pg_auth }}', command: 'SELECT 1' }],
    [
      'postgres',
      { auth: { host: 'db', user: 'x', password: '{{ keychain.pg.password }}' }, query: 'SELECT 1', params: [1] },
    ],
    ['postgres', { url: 'postgres://x@y/z', script: { uri: 'a.sql', source: { type: 'file' } } }],
  ])('%s %j has no problem', (kind, config) => {
    expect(check(kind, config)).toEqual([])
  })
})

describe('a task with invalid fields', () => {
  it.each<[string, Fields, string[]]>([
    ['noop', { code: 'x' }, ['warning code: unknown field code']],
    ['http', {}, [': url is missing']],
    ['http', { url: 'example.com' }, ['url: url is not an http:// or https:// URL']],
    ['http', { url: 'ftp://a.b' }, ['url: url is not an http:// or https:// URL']],
    ['http', { url: 'https://a.b', endpoint: 'https://c.d' }, ['endpoint: url and endpoint are given']],
    ['http', { url: 'https://a.b', headers: 'x' }, ['headers: headers must be a map, not text']],
    ['http', { url: 'https://a.b', json: 1, payload: 2 }, ['payload: json and payload are given']],
    [
      'http',
      { url: 'https://a.b', method: 'POST', data: { a: 1 }, json: 2 },
      ['json: data and json both give the body'],
    ],
    ['http', { url: 'https://a.b', timeout: 0 }, ['timeout: timeout must be above 0 seconds']],
    ['http', { url: 'https://a.b', timeout: true }, ['timeout: timeout must be a number or a map, not true or false']],
    ['http', { url: 'https://a.b', auth: { source: 'adc' } }, ['auth: http does not support this form of auth']],
    ['http', { url: 'https://a.b', retry: 3 }, ['warning retry: unknown field retry']],
    ['shell', {}, [': cmds is missing']],
    ['shell', { cmds: [] }, ['cmds: cmds is empty']],
    ['shell', { cmds: ['a', { b: 1 }] }, ['cmds.1: a command must be text']],
    ['shell', { cmd: 'a', cmds: ['b'] }, ['cmd: cmds and cmd are given']],
    ['python', {}, [': code is missing']],
    ['python', { code: 7 }, ['code: code must be text, not a number']],
    ['python', { code: 'x', deps: ['numpy'] }, ['warning deps: deps are not installed by Petrel']],
    ['python', { code: 'x', code_b64: 'eA==' }, ['code_b64: code and code_b64 are given']],
    [
      'python',
      { script: { uri: 'gs://x', source: { type: 'gcs' } } },
      ['script.source.type: scripts from gcs are not supported'],
    ],
    ['python', { script: { source: { type: 'file' } } }, ['script.uri: script.uri is missing']],
    ['javascript', { code: null }, [': code is missing']],
    ['postgres', { query: 'SELECT 1' }, [': auth is missing']],
    ['postgres', { auth: 'x', url: 'postgres://y', query: 'SELECT 1' }, ['url: auth and url are given']],
    ['postgres', { auth: { user: 'x' }, query: 'SELECT 1' }, ['auth: auth names no database']],
    ['postgres', { auth: 'x' }, [': command is missing']],
    ['postgres', { auth: 'x', query: 'SELECT 1', command: 'SELECT 2' }, ['query: command and query are given']],
    ['postgres', { auth: 'x', query: 'SELECT 1', params: 'x' }, ['params: params must be a list or a map, not text']],
    ['duckdb', { database: ':memory:' }, [': command is missing']],
  ])('%s %j is reported', (kind, config, expected) => {
    expect(recorded(kind, config).filter((line) => !line.includes('@duckdb'))).toEqual(expected)
  })

  it('gets a suggestion', () => {
    for (const [kind, config] of [
      ['http', {}],
      ['shell', {}],
      ['python', {}],
      ['postgres', {}],
    ] as const) {
      for (const problem of check(kind, config)) expect(problem.hint).toBeTruthy()
    }
  })

  it('does not make the check throw, whatever it contains', () => {
    const odd = [null, 0, '', [], {}, [null], { a: [{}] }, true]
    for (const kind of tools.kinds()) {
      const fields = [
        'url',
        'code',
        'cmds',
        'auth',
        'script',
        'data',
        'timeout',
        'query',
        'params',
        'method',
        'result',
        'cwd',
      ]
      for (const field of fields) for (const value of odd) expect(check(kind, { [field]: value })).toBeInstanceOf(Array)
    }
  })
})

describe('tools', () => {
  it('are the standard ones, and custom ones', async () => {
    const mine = Tools.standard().add({
      kind: 'mine',
      check: () => [],
      run: async () => ({ status: 'ok', result: 1, error: null }),
    })
    expect(mine.kinds()).toEqual(['noop', 'http', 'shell', 'python', 'javascript', 'postgres', 'duckdb', 'mine'])
    expect(mine.find('mine')!.kind).toBe('mine')
    expect(mine.find('theirs')).toBe(null)
    expect(tools.find('mine')).toBe(null)
  })

  it('never throw for invalid rendered fields: they return an envelope', async () => {
    const odd = [null, 0, '', [], {}, [null], { a: [{}] }, true, 'x']
    const rest = {
      input: {},
      tenant: null,
      context: {},
      signal: AbortSignal.abort(),
      timeoutMs: null,
      key: 'k',
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      conceal() {},
    }
    for (const kind of tools.kinds()) {
      const good: Fields = { url: 'https://example.com', code: '1', cmds: ['true'], query: 'SELECT 1' }
      for (const field of [
        'url',
        'code',
        'cmds',
        'auth',
        'script',
        'data',
        'timeout',
        'query',
        'params',
        'method',
        'env',
        'cwd',
      ]) {
        for (const value of odd) {
          const envelope = await tools.find(kind)!.run({ config: { ...good, [field]: value }, ...rest })
          expect(['ok', 'error']).toContain(envelope.status)
          if (kind !== 'noop')
            expect(envelope.error).toMatchObject({ kind: expect.any(String), message: expect.any(String) })
        }
      }
    }
  })
})

describe('noop', () => {
  const rest = {
    input: {},
    tenant: null,
    signal: new AbortController().signal,
    timeoutMs: null,
    key: 'k',
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    conceal() {},
  }
  it('returns its result, else that of the previous task, else null', async () => {
    const run = async (config: Fields, context: Fields) =>
      (await tools.find('noop')!.run({ config, context, ...rest })).result
    expect(await run({ result: { a: 1 } }, { _prev: 2 })).toEqual({ a: 1 })
    expect(await run({ result: null }, { _prev: 2 })).toBe(null)
    expect(await run({}, { _prev: 2 })).toBe(2)
    expect(await run({}, {})).toBe(null)
  })
})
