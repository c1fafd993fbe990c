/**
 * Large definitions are read in a thread of their own: parsing and compiling thousands of steps takes seconds, in which
 * this process could answer nobody. A thread that takes too long or too much memory is ended. Code that runs
 * from its sources has no file for a thread to load; there they are read in place.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Definition } from './definition.ts'
import { DefinitionError, type LocatedMistake } from './mistakes.ts'
import type { ReadOptions } from './others.ts'

/** Below it a thread takes longer to start than the file to read. */
const LARGE = 64 * 1024
const MOST_MS = 60_000
const MOST_MB = 1_024
const AT_A_TIME = 2

export interface ThreadTask {
  readonly file: string
  readonly text: string
  readonly strict: boolean | undefined
  /** Other definitions can be asked for. */
  readonly resolves: boolean
  readonly names: boolean
}

export type FromThread =
  | { readonly id: number; readonly resolve: string }
  | { readonly id: number; readonly names: true }
  | { readonly definition: Definition }
  | { readonly wrong: { readonly file: string; readonly problems: readonly LocatedMistake[] } }
  | { readonly failed: string }

export interface ToThread {
  readonly id: number
  readonly answer: unknown
}

/** Built beside this file; null: this runs from its sources. */
const CODE = import.meta.url.endsWith('.ts') ? null : new URL('./definition-thread.js', import.meta.url)

/** Tools that a program brought cannot be taken along. */
export function belongsInThread(text: string, { tools }: ReadOptions): boolean {
  return text.length > LARGE && tools === undefined && CODE !== null && existsSync(fileURLToPath(CODE))
}

let running = 0
const waiting: (() => void)[] = []

export async function readInThread(file: string, text: string, options: ReadOptions): Promise<Definition> {
  if (running >= AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await run(file, text, options)
  } finally {
    running--
    waiting.shift()?.()
  }
}

function run(file: string, text: string, { resolve, names, strict }: ReadOptions): Promise<Definition> {
  const workerData: ThreadTask = { file, text, strict, resolves: resolve !== undefined, names: names !== undefined }
  const resourceLimits = { maxOldGenerationSizeMb: MOST_MB }
  const worker = new Worker(CODE as URL, { workerData, resourceLimits })
  const answers = async (message: FromThread): Promise<void> => {
    if (!('id' in message)) return
    const answer = 'resolve' in message ? await resolve?.(message.resolve) : await names?.()
    worker.postMessage({ id: message.id, answer: answer ?? null } satisfies ToThread)
  }
  return new Promise<Definition>((done, fail) => {
    const tooMuch = (what: string): void => {
      const message = `the file takes more than ${what} to read`
      fail(new DefinitionError(file, [{ line: 1, column: 1, path: '', message, hint: 'split it into several files' }]))
    }
    const timer = setTimeout(() => tooMuch(`${MOST_MS / 1000} s`), MOST_MS)
    worker.on('message', (message: FromThread) => {
      if ('definition' in message) done(message.definition)
      else if ('wrong' in message) fail(new DefinitionError(message.wrong.file, message.wrong.problems))
      else if ('failed' in message) fail(new Error(message.failed))
      else answers(message).catch(fail)
    })
    worker.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') tooMuch(`${MOST_MB} MiB of memory`)
      else fail(error)
    })
    worker.once('exit', () => {
      clearTimeout(timer)
      fail(new Error(`the thread that read ${file} ended`))
    })
  }).finally(() => worker.terminate())
}
