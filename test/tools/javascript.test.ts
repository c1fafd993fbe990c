import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/net/net.ts'
import { JAVASCRIPT_PROGRAM } from '../../src/tools/process/javascript-program.ts'
import { type CallOptions, errorOf, isAlive, resultOf, until } from './calling.ts'
import { serving } from './serving.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'petrel-javascript-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const javascript = (code: string, options: CallOptions = {}): Promise<any> => resultOf('javascript', { code }, options)
const failing = (code: string, options: CallOptions = {}): Promise<any> => errorOf('javascript', { code }, options)

describe('javascript', () => {
  it.each<[string, string, Json]>([
    ['its return value', 'return x + 1', 6],
    ['its return value after an await', 'await null\nreturn { x }', { x: 5 }],
    ['a variable result', 'const result = [x]', [5]],
    ['a global result', 'result = input.x // the end', 5],
    ['the return value of main', 'function main(input, context) { return [input.x, context.user] }', [5, 'ada']],
    ['the return value of an async main', 'const main = async ({ x }) => x * 2', 10],
    ['result before main', 'let result = 1; function main() { return 2 }', 1],
    ['null if there is none', 'x', null],
    ['not hidden by names of the wrapper', 'return [given, fs, url, report]', [1, 2, 3, 4]],
    ['available also under names that are not identifiers', 'return input["no name"] + input.class', 11],
    ['not hidden by a name of its input', 'let x = 9; return x', 9],
    [
      'text if a number would be rounded',
      'return [2n ** 60n, new Date(0)]',
      ['1152921504606846976', '1970-01-01T00:00:00.000Z'],
    ],
    ['given although timers are left', 'setInterval(() => {}, 10); return 1', 1],
    ['not affected by printed output', 'console.log("{}"); console.error("x"); return 1', 1],
  ])('the result is %s', async (_what, code, expected) => {
    expect(
      await javascript(code, {
        input: { x: 5, given: 1, fs: 2, url: 3, report: 4, 'no name': 5, class: 6 },
        context: { user: 'ada' },
      }),
    ).toEqual(expected)
  })

  it('has modules: import() and require, also next to a script', async () => {
    writeFileSync(join(folder, 'part.cjs'), 'exports.name = "part"')
    writeFileSync(join(folder, 'task.js'), 'return [require("./part.cjs").name, (await import("node:path")).sep]')
    const script = { uri: join(folder, 'task.js'), source: { type: 'file' } }
    expect(await resultOf('javascript', { script })).toEqual(['part', '/'])
  })

  it('has only PATH, HOME, LANG and the variables of env and auth in its environment', async () => {
    process.env['PETREL_TEST_SECRET'] = 'hidden'
    const names = await resultOf('javascript', {
      code: 'return Object.keys(process.env)',
      env: { A: 1 },
      auth: { B: 2 },
    })
    delete process.env['PETREL_TEST_SECRET']
    expect(names.filter((name: string) => !['HOME', 'LANG', 'PATH'].includes(name)).sort()).toEqual(['A', 'B'])
  })

  it.each([
    ['throw new TypeError("no")', { kind: 'schema', code: 'JS_TypeError', message: 'TypeError: no' }],
    ['throw "just text"', { kind: 'unknown', code: 'JS_string', message: 'string: just text' }],
    ['x = (', { kind: 'parse', code: 'JS_SyntaxError' }],
    ['JSON.parse("{")', { kind: 'parse', code: 'JS_SyntaxError' }],
    [
      'setTimeout(() => { throw new Error("late") }); await new Promise(() => {})',
      { code: 'JS_Error', message: 'Error: late' },
    ],
    ['Promise.reject(new Error("lost")); await new Promise((r) => setTimeout(r, 1000))', { message: 'Error: lost' }],
    ['await new Promise(() => {})', { code: 'EXIT_0', message: 'the process exited with 0 before it gave a result' }],
    ['process.exit(3)', { code: 'EXIT_3' }],
    ['process.kill(process.pid, "SIGKILL")', { code: 'KILLED_SIGKILL' }],
    ['require("fs").writeSync(3, "{}"); return 1', { kind: 'parse', code: 'RESULT_GARBLED' }],
    ['return { a: NaN }', { kind: 'transform', code: 'RESULT_NOT_JSON', message: 'the result is not JSON: a is NaN' }],
    ['return new Map()', { kind: 'transform', message: 'the result is not JSON: it is a Map' }],
    ['return { f() {} }', { kind: 'transform', message: 'the result is not JSON: f is a function' }],
    ['const a = []; a[0] = a; return a', { kind: 'transform', code: 'RESULT_NOT_JSON' }],
  ])('%s is reported as a problem', async (code, expected) => {
    expect(await failing(code)).toMatchObject({ retryable: false, ...expected })
  })

  it('reports the failures of its requests by error kind', async () => {
    const closed = await serving()
    await closed.close()
    expect(await failing(`await fetch("${closed.url}")`)).toMatchObject({ kind: 'connection', retryable: true })
    expect(await failing('await fetch("x", { signal: AbortSignal.timeout(1) }); ')).toMatchObject({ kind: 'schema' })
  })

  it('reports the line of an error', async () => {
    const { details } = await failing('const half = (n) => n.toFixed(-1)\nhalf(1)')
    expect(details.traceback).toContain('task.js:1:23')
    expect(details.traceback).toContain('task.js:2:1')
  })

  it('ends at its timeout, with all processes it started', async () => {
    const file = join(folder, 'pids')
    const code = `
const child = require('node:child_process').spawn('sleep', ['60'])
require('node:fs').writeFileSync(${JSON.stringify(file)}, process.pid + ' ' + child.pid)
process.on('SIGTERM', () => {})
while (true);`
    expect(await errorOf('javascript', { code, timeout: 1 })).toMatchObject({ kind: 'timeout', code: 'TIMEOUT' })
    const pids = readFileSync(file, 'utf8').split(' ').map(Number)
    await until('both are gone', () => !pids.some(isAlive))
  })

  it('ends when the run is cancelled', async () => {
    const cancelled = new AbortController()
    const asked = failing('await new Promise((r) => setTimeout(r, 60_000))', { signal: cancelled.signal })
    setTimeout(() => cancelled.abort(), 50)
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED' })
  })

  it('ends with its worker', async () => {
    const file = join(folder, 'orphan')
    const code = `require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); await new Promise((r) => setTimeout(r, 60_000))`
    const input = JSON.stringify({ nonce: 'n', code, file: 'task.js', input: {}, context: {} })
    const worker = `
      const child = require('node:child_process').spawn(process.execPath, ['-e', process.env.PROGRAM],
        { detached: true, stdio: ['pipe', 'ignore', 'ignore', 'pipe', 'pipe'] })
      child.stdin.end(process.env.INPUT)
      setInterval(() => {}, 1000)`
    const env = { ...process.env, PROGRAM: JAVASCRIPT_PROGRAM, INPUT: input }
    const parent = spawn(process.execPath, ['-e', worker], { env, stdio: 'ignore' })
    let pid = 0
    await until('it runs', () => {
      try {
        pid = Number(readFileSync(file, 'utf8'))
      } catch {}
      return pid > 0
    })
    parent.kill('SIGKILL')
    await until('it is gone', () => !isAlive(pid))
  })

  it('may return large results, up to its limit', async () => {
    expect(await javascript('return "ü".repeat(2_000_000)')).toHaveLength(2_000_000)
    const error = await failing('return "x".repeat(2_000_000)', { tools: { maxResultBytes: 1_000_000 } })
    expect(error).toMatchObject({ kind: 'transform', code: 'RESULT_TOO_LARGE' })
  })
})
