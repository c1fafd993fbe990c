/** Runs the built `petrel` as a child process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'

export const root = fileURLToPath(new URL('../..', import.meta.url))
/** PETREL_TEST_BIN: the path of another build, or of an installed one. */
const bin = process.env['PETREL_TEST_BIN'] || join(root, 'bin/petrel')

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
  readonly ms: number
  json(): any
}

export interface Running {
  readonly child: ChildProcess
  /** All output so far. */
  readonly out: string
  readonly err: string
  readonly ended: Promise<Ended>
  /** Resolves when stdout matches; rejects if the process ends first. */
  until(pattern: RegExp): Promise<RegExpMatchArray>
}

export interface Shell {
  /** A temporary directory, used as the current one by every command. */
  readonly dir: string
  write(file: string, text: string): string
  petrel(...args: readonly string[]): Promise<Ended>
  start(...args: readonly string[]): Running
  env: Record<string, string>
}

/** Commands of one test file share a directory; processes still running at its end are killed. */
export function shell(): Shell {
  const dir = mkdtempSync(join(tmpdir(), 'petrel-cli-'))
  const running = new Set<ChildProcess>()
  const self: Shell = {
    dir,
    env: {},
    write: (file, text) => {
      const path = join(dir, file)
      writeFileSync(path, text)
      return path
    },
    petrel: (...args) => self.start(...args).ended,
    start: (...args) => launch(args, dir, self.env, running),
  }
  beforeAll(() => {
    if (!process.env['PETREL_TEST_BIN']) buildIfStale()
  }, 120_000)
  afterAll(() => {
    for (const child of running) child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })
  return self
}

function launch(
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
  running: Set<ChildProcess>,
): Running {
  const began = performance.now()
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(PETREL_|PORT$|NO_COLOR$|FORCE_COLOR$)/.test(name)),
  )
  const child = spawn(process.execPath, [bin, ...args], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let out = ''
  let err = ''
  const watchers = new Set<() => void>()
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text
    for (const watcher of watchers) watcher()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      running.delete(child)
      resolve({ code, out, err, ms: performance.now() - began, json: () => JSON.parse(out) })
    })
  })
  const until = (pattern: RegExp): Promise<RegExpMatchArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = out.match(pattern)
        if (match === null) return
        watchers.delete(look)
        resolve(match)
      }
      watchers.add(look)
      look()
      void ended.then(({ code }) =>
        reject(new Error(`ended with ${code} before ${pattern} was printed:\n${out}\n${err}`)),
      )
    })
  return {
    child,
    ended,
    until,
    get out() {
      return out
    },
    get err() {
      return err
    },
  }
}

/** Handlers that the tests share, written as a module. */
export const HANDLERS = `
import { appendFileSync } from 'node:fs'
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export default {
  'test.echo': async (args) => args,
  'test.fail': async () => { throw new Error('broken') },
  'test.text': async () => { throw 'only a text' },
  'test.opaque': async () => ({ big: 10n }),
  'test.slow': async ([file]) => { appendFileSync(file, 'begin\\n'); await sleep(1500); appendFileSync(file, 'end\\n'); return 'slow' },
  'test.defer': async (args, ctx) => ctx.defer(),
  'test.undo': async () => null,
}
`
