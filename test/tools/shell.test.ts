import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { COMMAND_VARIABLE, SHELL_PROGRAM } from '../../src/tools/process/shell-program.ts'
import { call, errorOf, isAlive, resultOf, until } from './calling.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'petrel-shell-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('shell', () => {
  it('runs each command by /bin/sh and returns its output', async () => {
    const result = await resultOf('shell', { cmds: ['echo one; echo aside >&2', 'printf two | tr t T'] })
    expect(result).toMatchObject({
      returncode: 0,
      stdout: 'one\nTwo',
      stderr: 'aside\n',
      truncated: false,
      commands: [
        { command: 'echo one; echo aside >&2', returncode: 0 },
        { command: 'printf two | tr t T', returncode: 0 },
      ],
    })
    expect(result.duration_ms).toBeGreaterThanOrEqual(0)
  })

  it.each(['cmd', 'command', 'cmds'])('takes one command under %s', async (field) => {
    expect(await resultOf('shell', { [field]: 'echo $((1+1))' })).toMatchObject({ stdout: '2\n' })
  })

  it.each([
    ['exit 0; echo never', ''],
    ['exec echo instead', 'instead\n'],
    ['sleep 0.05 & sleep 0.05 & wait; echo both', 'both\n'],
    ['set -e; false || echo kept', 'kept\n'],
    ['cat <<END\nas $((1+1)) lines\nEND', 'as 2 lines\n'],
    ['trap "echo bye" EXIT; echo hello', 'hello\nbye\n'],
    ['read line || echo no input', 'no input\n'],
    ['echo \'single\' "double" \\$HOME', 'single double $HOME\n'],
    ['true # and no more', ''],
  ])('behaves like a shell: %j', async (cmd, stdout) => {
    expect(await resultOf('shell', { cmd })).toMatchObject({ returncode: 0, stdout, stderr: '' })
  })

  it.each([
    ['(', /syntax|unexpected/i, 'EXIT_2'],
    ['no-such-program', /not found/, 'EXIT_127'],
    ['exit 300', /^$/, 'EXIT_44'],
  ])('reports the mistake in %j', async (cmd, words, code) => {
    const error = await errorOf('shell', { cmd })
    expect(error.code).toBe(code)
    expect(error.details.stderr).toMatch(words)
  })

  it('does not appear in the list of processes', async () => {
    const { stdout } = await resultOf('shell', {
      cmd: 'ps -ww -o args= -p $$ || cat /proc/$$/cmdline # s3cr3t-value',
    })
    expect(stdout).toContain('/bin/sh')
    expect(stdout).not.toContain('s3cr3t')
  })

  it('stops at the first that fails, and returns the output so far', async () => {
    const envelope = await call('shell', { cmds: ['echo one', 'echo "no disk" >&2; exit 3', 'echo never'] })
    expect(envelope).toMatchObject({
      status: 'error',
      result: { returncode: 3, stdout: 'one\n', stderr: 'no disk\n' },
      error: { kind: 'unknown', code: 'EXIT_3', message: 'command 2 ended with 3: no disk', retryable: false },
    })
    expect((envelope.result as any).commands).toHaveLength(2)
  })

  it("has only PATH, HOME, LANG and env of the worker's environment", async () => {
    process.env['PETREL_TEST_SECRET'] = 'hidden'
    const { stdout } = await resultOf('shell', { cmd: 'env', env: { PORT: 80, NAME: 'x', DEEP: { a: 1 } } })
    delete process.env['PETREL_TEST_SECRET']
    const names = stdout
      .trim()
      .split('\n')
      .map((line: string) => line.split('=')[0])
    const ofShell = ['PWD', 'SHLVL', '_', 'OLDPWD']
    const inherited = ['HOME', 'LANG', 'PATH'].filter((name) => name in process.env)
    expect(names.filter((name: string) => !ofShell.includes(name)).sort()).toEqual(
      ['DEEP', 'NAME', 'PORT', ...inherited].sort(),
    )
    expect(stdout).toContain('PORT=80')
    expect(stdout).toContain('DEEP={"a":1}')
  })

  it('runs in cwd, which must exist', async () => {
    expect((await resultOf('shell', { cmd: 'pwd -P', cwd: folder })).stdout).toBe(`${folder}\n`)
    const error = await errorOf('shell', { cmd: 'pwd', cwd: join(folder, 'none') })
    expect(error).toMatchObject({ kind: 'not_found', code: 'CWD_NOT_FOUND' })
  })

  it('ends all of its processes at its timeout, also those that ignore TERM', async () => {
    const file = join(folder, 'pids')
    const cmd = `trap '' TERM; echo $$ > ${file}; sh -c 'trap "" TERM; echo $$ >> ${file}; sleep 60' & sleep 61; sleep 62`
    const envelope = await call('shell', { cmds: ['echo first', cmd], timeout_seconds: 1 })
    expect(envelope).toMatchObject({
      status: 'error',
      result: { returncode: null, stdout: 'first\n' },
      error: { kind: 'timeout', code: 'TIMEOUT', message: 'command 2 did not end within 1 s', retryable: true },
    })
    const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number)
    expect(pids).toHaveLength(2)
    await until('both are gone', () => !pids.some(isAlive))
  })

  it('lets a terminated command clean up', async () => {
    const cmd = 'trap "echo tidy; exit 1" TERM; echo begun; sleep 60 & wait'
    const { result } = await call('shell', { cmd, timeout: 0.5 })
    expect(result).toMatchObject({ stdout: 'begun\ntidy\n', returncode: null })
  })

  it('limits all commands together by the timeout of the task', async () => {
    const error = await errorOf('shell', { cmds: ['sleep 0.2', 'sleep 60'] }, { timeoutMs: 400 })
    expect(error).toMatchObject({ code: 'TIMEOUT', details: { command: 2 } })
  })

  it('ends when the run is cancelled', async () => {
    const cancelled = new AbortController()
    const asked = errorOf('shell', { cmd: 'sleep 60' }, { signal: cancelled.signal })
    setTimeout(() => cancelled.abort(), 50)
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED' })
    expect(await errorOf('shell', { cmd: 'sleep 60' }, { signal: cancelled.signal })).toMatchObject({ code: 'ABORTED' })
  })

  it('does not wait for background processes left behind, and ends them', async () => {
    const file = join(folder, 'background')
    const { stdout } = await resultOf('shell', { cmd: `sleep 60 & echo $! > ${file}; echo done` })
    expect(stdout).toBe('done\n')
    const pid = Number(readFileSync(file, 'utf8'))
    await until('it is gone', () => !isAlive(pid))
  })

  it('keeps the end of long output', async () => {
    const result = await resultOf('shell', { cmd: 'yes 0123456789 | head -c 3000000; echo; echo last; echo error >&2' })
    expect(result.truncated).toBe(true)
    expect(result.stdout.length).toBe(1024 * 1024)
    expect(result.stdout.endsWith('\nlast\n')).toBe(true)
    expect(result.stderr).toBe('error\n')
  })

  it('prints bytes that are not text as U+FFFD', async () => {
    expect((await resultOf('shell', { cmd: String.raw`printf 'a\000b\377c'` })).stdout).toBe('a\uFFFDb\uFFFDc')
  })

  it('reports the signal that ended a command', async () => {
    expect(await errorOf('shell', { cmd: 'kill -SEGV $$' })).toMatchObject({
      code: 'KILLED_SIGSEGV',
      message: 'command 1 was ended by SIGSEGV',
    })
  })

  it('reports a command longer than the system allows', async () => {
    const error = await errorOf('shell', { cmd: `: ${'x'.repeat(4_000_000)}` })
    expect(error).toMatchObject({ kind: 'client_error', code: 'COMMAND_TOO_LONG' })
  })

  it.each([[{ cmds: [] }], [{ cmds: [1] }], [{ cmd: { a: 1 } }]])('refuses %j', async (config) => {
    expect(await errorOf('shell', config)).toMatchObject({ kind: 'schema', code: 'FIELD_INVALID' })
  })
})

describe('a command whose worker is gone', () => {
  it('ends with it, and so do the processes it started', async () => {
    const file = join(folder, 'orphans')
    const worker = `
      const child = require('node:child_process').spawn('/bin/sh', ['-c', process.env.PROGRAM],
        { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ignore', 'pipe'] })
      setInterval(() => {}, 1000)`
    const command = `sh -c 'echo $$ >> ${file}; sleep 60' & echo $$ >> ${file}; sleep 61`
    const env = { ...process.env, PROGRAM: SHELL_PROGRAM, [COMMAND_VARIABLE]: command }
    const parent = spawn(process.execPath, ['-e', worker], { env, stdio: 'ignore' })
    let pids: number[] = []
    await until('both run', () => {
      try {
        pids = readFileSync(file, 'utf8').trim().split('\n').map(Number)
      } catch {}
      return pids.length === 2
    })
    expect(pids.every(isAlive)).toBe(true)
    parent.kill('SIGKILL')
    await until('both are gone', () => !pids.some(isAlive))
  })
})
