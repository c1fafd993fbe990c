import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/net/net.ts'
import { PYTHON_PROGRAM } from '../../src/tools/process/python-program.ts'
import { type CallOptions, call, errorOf, isAlive, resultOf, until } from './calling.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'petrel-python-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const python = (code: string, options: CallOptions = {}): Promise<any> => resultOf('python', { code }, options)
const failing = (code: string, options: CallOptions = {}): Promise<any> => errorOf('python', { code }, options)

describe('the input of python code', () => {
  it('is available as globals, input_data and args, the context, and os, json, datetime, uuid', async () => {
    const code = `
result = {
  "sum": a + len(b), "whole": input_data == args == {"a": 1, "b": [1, 2]}, "user": context["user"],
  "loaded": [os.path.basename("x/y"), json.loads("[1]"), datetime.datetime(2026, 1, 2).year, uuid.UUID(int=1).int],
}`
    expect(await python(code, { input: { a: 1, b: [1, 2] }, context: { user: 'ada' } })).toEqual({
      sum: 3,
      whole: true,
      user: 'ada',
      loaded: ['y', [1], 2026, 1],
    })
  })

  it('includes the modules in libs', async () => {
    const libs = {
      m: 'math',
      Decimal: { from: 'decimal', import: 'Decimal' },
      os: 'os.path',
      ElementTree: { from: 'xml.etree', import: 'ElementTree' },
    }
    const code = 'result = [m.floor(1.5), str(Decimal("1.10")), os.path.sep, ElementTree.fromstring("<a/>").tag]'
    expect(await resultOf('python', { code, libs })).toEqual([1, '1.10', '/', 'a'])
    expect(await resultOf('python', { code: 'result = math.pi > 3', libs: ['math'] })).toBe(true)
    const envelope = await call('python', { code: 'result = 1', libs: { x: 'no_such_module' } })
    expect(envelope).toMatchObject({
      error: { code: 'PY_ModuleNotFoundError', details: { stage: 'libs' } },
      py: { exception_type: 'ModuleNotFoundError' },
    })
  })

  it('includes only PATH, HOME, LANG and the variables of env and auth in its environment', async () => {
    process.env['PETREL_TEST_SECRET'] = 'hidden'
    const code = 'result = sorted(os.environ)'
    const names = await resultOf('python', { code, env: { A: 1 }, auth: { B: 'x' } })
    delete process.env['PETREL_TEST_SECRET']
    // If python3 is a shim of a version manager, which adds its own.
    expect(names).toEqual(expect.arrayContaining(['A', 'B', 'PATH']))
    expect(names).not.toContain('PETREL_TEST_SECRET')
  })

  it('includes nothing of an earlier task', async () => {
    await python('import builtins; builtins.leftover = 1; result = 1')
    expect(await failing('result = leftover')).toMatchObject({ code: 'PY_NameError' })
  })

  it('comes from base64 or a file', async () => {
    expect(await resultOf('python', { code_b64: btoa('result = 40 + 2') })).toBe(42)
    writeFileSync(join(folder, 'task.py'), 'def main(name):\n  return "hello " + name\n')
    const script = { uri: 'task.py', source: { type: 'file' } }
    expect(await resultOf('python', { script, cwd: folder }, { input: { name: 'ada' } })).toBe('hello ada')
    const missing = { uri: 'none.py', source: { type: 'file' } }
    expect(await errorOf('python', { script: missing })).toMatchObject({ kind: 'not_found', code: 'SCRIPT_NOT_FOUND' })
    const endless = { uri: '/dev/zero', source: { type: 'file' } }
    expect(await errorOf('python', { script: endless })).toMatchObject({ code: 'SCRIPT_NOT_FOUND' })
    const inline = { uri: 'inline', source: { type: 'inline', code: 'result = 7' } }
    expect(await resultOf('python', { script: inline })).toBe(7)
  })
})

describe('the result of python code', () => {
  it.each<[string, string, Json]>([
    ['the variable result', 'result = {"a": [1, 2.5, None, True]}', { a: [1, 2.5, null, true] }],
    ['a return outside of any function', 'x = x + 1\nif x > 5:\n  return {"x": x}\nreturn 0', { x: 6 }],
    ['the return value of main', 'def main(x):\n  return x * 2', 10],
    [
      'the return value of an async main',
      'import asyncio\nasync def main(x):\n  await asyncio.sleep(0)\n  return x * 3',
      15,
    ],
    ['the value of a top-level await', 'import asyncio\nawait asyncio.sleep(0)\nresult = x', 5],
    ['result before main', 'result = 1\ndef main():\n  return 2', 1],
    ['result if no return was reached', 'if x == 0:\n  return 1\nresult = 2', 2],
    ['null if there is none', 'y = x', null],
  ])('is %s', async (_what, code, expected) => {
    expect(await python(code, { input: { x: 5 } })).toEqual(expected)
  })

  it.each<[string, Json]>([
    ['def main(): return 1', 1],
    ['def main(b, a=7): return [a, b]', [7, 2]],
    ['def main(**given): return given', { b: 2, c: 3 }],
    ['def main(input_data): return input_data', { b: 2, c: 3 }],
    ['def main(context): return context', { user: 'ada' }],
    ['def main(data): return data', { b: 2, c: 3 }],
    ['def main(b, /, *, c): return [b, c]', [2, 3]],
  ])('%s gets its arguments by their names', async (code, expected) => {
    expect(await python(code, { input: { b: 2, c: 3 }, context: { user: 'ada' } })).toEqual(expected)
  })

  it('keeps names global if code is wrapped for its return', async () => {
    const code = `
import math as m
total = 0
def add(n):
  global total
  total += n
for i in [1, 2]:
  add(i)
try:
  1 / 0
except ZeroDivisionError as gone:
  pass
squares = [(last := j) * j for j in range(3)]
class Box:
  size = total
match [1, 2]:
  case [first, *rest]:
    pass
return [total, i, squares, last, Box.size, first, rest, m.floor(2.5)]`
    expect(await python(code)).toEqual([3, 2, [0, 1, 4], 2, 3, 1, [2], 2])
  })

  it('is text for values that JSON does not have', async () => {
    const code = `
import decimal
result = {"when": datetime.date(2026, 1, 2), "price": decimal.Decimal("1.10"), "id": uuid.UUID(int=0), 1: "key",
          "big": 2**53, "bigger": [2**60], "exact": 2**53 - 1, "text": "1234567890123456"}`
    expect(await python(code)).toEqual({
      when: '2026-01-02',
      price: '1.10',
      id: '00000000-0000-0000-0000-000000000000',
      1: 'key',
      big: '9007199254740992',
      bigger: ['1152921504606846976'],
      exact: 9007199254740991,
      text: '1234567890123456',
    })
  })

  it.each([
    ['float("nan")', 'Out of range float values are not JSON compliant'],
    ['[1, float("-inf")]', 'Out of range float values are not JSON compliant'],
    ['{(1, 2): 3}', 'keys must be str, int, float, bool or None, not tuple'],
    ['(lambda a: a.append(a) or a)([])', 'Circular reference detected'],
    ['"\\ud800"', 'surrogates not allowed'],
  ])('%s is an error of kind transform', async (value, message) => {
    const error = await failing(`result = ${value}`)
    expect(error).toMatchObject({ kind: 'transform', code: 'RESULT_NOT_JSON', retryable: false })
    expect(error.message).toContain(message)
  })

  it('does not determine whether the task failed: a map with status error is a result', async () => {
    expect(await python('result = {"status": "error"}')).toEqual({ status: 'error' })
  })

  it('is not affected by printed output', async () => {
    const printed: object[] = []
    const logger = { debug: (context: object) => printed.push(context), info() {}, warn() {}, error() {} }
    const code =
      'import sys\nprint(\'{"result": 1}\')\nsys.stderr.write("aside")\nos.write(1, b"\\x00\\xff")\nresult = 2'
    expect(await python(code, { logger })).toBe(2)
    expect(printed).toEqual([{ key: 'run-1/task', stdout: '{"result": 1}\n\uFFFD\uFFFD', stderr: 'aside' }])
  })

  it('is not affected by a flood of output, of which the end is kept', async () => {
    const printed: any[] = []
    const logger = { debug: (context: object) => printed.push(context), info() {}, warn() {}, error() {} }
    expect(await python('print("x" * 20_000_000)\nprint("last")\nresult = 1', { logger })).toBe(1)
    expect(printed[0].stdout).toHaveLength(2000)
    expect(printed[0].stdout.endsWith('x\nlast\n')).toBe(true)
  })

  it('may be large, up to its limit', async () => {
    expect(await python('result = "x" * 5_000_000')).toHaveLength(5_000_000)
    const error = await failing('result = "x" * 5_000_000', { tools: { maxResultBytes: 1_000_000 } })
    expect(error).toMatchObject({ kind: 'transform', code: 'RESULT_TOO_LARGE' })
  })
})

describe('python code that fails', () => {
  it.each([
    ['raise ValueError("bad")', 'ValueError', 'schema', false],
    ['{}["a"]', 'KeyError', 'schema', false],
    ['json.loads("{")', 'JSONDecodeError', 'parse', false],
    ['x = (', 'SyntaxError', 'parse', false],
    ['raise TimeoutError()', 'TimeoutError', 'timeout', true],
    ['raise ConnectionResetError("gone")', 'ConnectionResetError', 'connection', true],
    ['raise RuntimeError("x")', 'RuntimeError', 'unknown', false],
    ['raise KeyboardInterrupt()', 'KeyboardInterrupt', 'unknown', false],
    ['input()', 'EOFError', 'unknown', false],
    ['def f(): return f()\nf()', 'RecursionError', 'unknown', false],
    ['def main(a, b): return 1', 'TypeError', 'schema', false],
  ])('%s: its exception, in the words of rules', async (code, type, kind, retryable) => {
    const envelope = await call('python', { code })
    expect(envelope).toMatchObject({
      status: 'error',
      error: { kind, retryable, code: `PY_${type}`, details: { exception_type: type } },
      py: { exception_type: type },
    })
    expect(envelope.error!.message).toContain(type)
  })

  it('reports where: the lines of the task, not those of the wrapper', async () => {
    const { details } = await failing('def half(n):\n  return n / 0\n\nresult = half(1)')
    expect(details.traceback).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "task.py", line 4, in <module>\n/,
    )
    expect(details.traceback).toMatch(/line 2, in half\n {4}return n \/ 0/)
    expect(details.traceback).not.toContain('<string>')
  })

  it.each([
    ['import sys\nresult = 1\nsys.exit(3)', 'EXITED', 'the code called sys.exit(3); a task ends with a result'],
    ['raise SystemExit("enough")', 'EXITED', "the code called sys.exit('enough'); a task ends with a result"],
    ['result = 1\nos._exit(4)', 'EXIT_4', 'the process exited with 4 before it gave a result'],
    ['os._exit(0)', 'EXIT_0', 'the process exited with 0 before it gave a result'],
    ['os.kill(os.getpid(), 9)', 'KILLED_SIGKILL', 'the process was ended by SIGKILL'],
    ['import signal\nsignal.raise_signal(signal.SIGSEGV)', 'KILLED_SIGSEGV', 'the process was ended by SIGSEGV'],
    ['os.write(3, b"{}")', 'PY_OSError', 'Bad file descriptor'],
    [
      'for fd in range(4, 20):\n  try: os.write(fd, b"{}")\n  except OSError: pass',
      'RESULT_GARBLED',
      'the code wrote to descriptor 3, which is kept for its result',
    ],
  ])('%j is reported as a problem', async (code, expected, message) => {
    const error = await failing(code)
    expect(error.code).toBe(expected)
    expect(error.message).toContain(message)
    expect(error.retryable).toBe(false)
  })

  it('shows its output before it died', async () => {
    const { details } = await failing('print("so far"); os._exit(1)')
    expect(details).toMatchObject({ stdout: 'so far\n' })
  })

  it('ends at its timeout, with all processes it started', async () => {
    const file = join(folder, 'pids')
    const code = `
import subprocess, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
open(${JSON.stringify(file)}, "w").write(f"{os.getpid()} {child.pid}")
print("begun")
while True: pass`
    const error = await errorOf('python', { code, timeout_seconds: 1 })
    expect(error).toMatchObject({
      kind: 'timeout',
      code: 'TIMEOUT',
      message: 'the code did not end within 1 s',
      details: { stdout: 'begun\n' },
    })
    const pids = readFileSync(file, 'utf8').split(' ').map(Number)
    await until('both are gone', () => !pids.some(isAlive))
  })

  it('ends when the run is cancelled', async () => {
    const cancelled = new AbortController()
    const asked = failing('import time\ntime.sleep(60)', { signal: cancelled.signal })
    setTimeout(() => cancelled.abort(), 50)
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED' })
  })

  it('does not wait for a child process left behind, even one in a separate session', async () => {
    const began = performance.now()
    const code =
      'if os.fork() == 0:\n  os.setsid()\n  import time\n  time.sleep(20)\n  os._exit(0)\nresult = os.getpid()'
    expect(await python(code)).toBeTypeOf('number')
    expect(performance.now() - began).toBeLessThan(10_000)
  })

  it('reports once if it forked', async () => {
    expect(
      await python(
        'pid = os.fork()\nif pid == 0:\n  result = "child"\nelse:\n  os.waitpid(pid, 0)\n  result = "parent"',
      ),
    ).toBe('parent')
  })

  it('is reported if python is missing', async () => {
    expect(await failing('result = 1', { tools: { python: 'python-that-is-not-there' } })).toMatchObject({
      kind: 'unsupported',
      code: 'PROGRAM_MISSING',
      message: 'python-that-is-not-there is not installed where this worker runs',
    })
  })

  it('with a large input that it never reads still ends', async () => {
    expect(await python('result = len(a)', { input: { a: 'x'.repeat(5_000_000) } })).toBe(5_000_000)
    expect(await resultOf('shell', { cmd: 'true' })).toMatchObject({ returncode: 0 })
  })
})

describe.skipIf(process.platform !== 'linux')('python code whose worker is gone', () => {
  it('ends with it', async () => {
    const file = join(folder, 'orphan')
    const code = `open(${JSON.stringify(file)}, "w").write(str(os.getpid()))\nimport time\ntime.sleep(60)`
    const input = JSON.stringify({ nonce: 'n', code, file: 'task.py', input: {}, context: {}, libs: {} })
    const worker = `
      const child = require('node:child_process').spawn('python3', ['-c', process.env.PROGRAM],
        { detached: true, stdio: ['pipe', 'inherit', 'inherit', 'pipe', 'pipe'] })
      child.stdin.end(process.env.INPUT)
      setInterval(() => {}, 1000)`
    const env = { ...process.env, PROGRAM: PYTHON_PROGRAM, INPUT: input }
    const parent = spawn(process.execPath, ['-e', worker], { env, stdio: 'ignore' })
    let pid = 0
    await until('it runs', () => {
      try {
        pid = Number(readFileSync(file, 'utf8'))
      } catch {}
      return pid > 0
    })
    expect(isAlive(pid)).toBe(true)
    parent.kill('SIGKILL')
    await until('it is gone', () => !isAlive(pid))
  })
})
