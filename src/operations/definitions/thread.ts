/**
 * Large definitions are read in a separate thread: parsing and compiling thousands of steps takes seconds, during which
 * this process could not answer. The thread also checks, hashes and serialises what will be stored: it returns text,
 * which this thread only copies, while thousands of objects would take it half a second. A thread that takes too long
 * or too much memory is terminated. Code that runs from its sources has no file for a thread to load; it reads
 * definitions in place.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { StartLimits } from '../../model/start.ts'
import type { Definition } from '../../notations/source/definition.ts'
import { DefinitionError } from '../../notations/source/mistakes.ts'
import type { ReadOptions } from '../../notations/source/named-definitions.ts'
import type { PlannedDefinition } from './read.ts'
import { receivedError, type SentError } from './thread-errors.ts'
import { ThreadLine } from './thread-line.ts'

/** Below this size a thread takes longer to start than the file to read. */
const LARGE = 64 * 1024
const MOST_MS = 60_000
const MOST_MB = 1_024
const AT_A_TIME = 2

export interface ThreadTask {
  readonly file: string
  readonly text: string
  readonly strict: boolean | undefined
  /** Other definitions can be requested. */
  readonly resolves: boolean
  readonly names: boolean
  /** null: it will not be stored. */
  readonly limits: StartLimits | null
}

/** The request: `planned` if there are limits, `definition` if there are none. */
interface Answer {
  readonly definition: Definition
  readonly planned: PlannedDefinition
}

export type FromThread =
  | { readonly id: number; readonly resolve: string }
  | { readonly id: number; readonly names: true }
  | { readonly answer: Partial<Answer> }
  | { readonly error: SentError }

export interface ToThread {
  readonly id: number
  readonly answer: unknown
}

/** Built beside this file; null: the code runs from its sources. */
const CODE = import.meta.url.endsWith('.ts') ? null : new URL('./definition-thread.js', import.meta.url)

/** The reading begun in place turned out to be too large for it. */
class TooLarge extends Error {}

/** A small file may refer to large ones: once it requests that much, it is read again in a thread. */
export async function unlessLarge<T>(
  text: string,
  options: ReadOptions,
  how: { here(options: ReadOptions): Promise<T>; inThread(): Promise<T> },
): Promise<T> {
  const { resolve, tools } = options
  // Custom tools of a program cannot be passed to a thread.
  if (tools !== undefined || CODE === null || !existsSync(fileURLToPath(CODE))) return how.here(options)
  let weight = weightOf(text)
  if (weight > LARGE) return how.inThread()
  if (resolve === undefined) return how.here(options)
  const counted: typeof resolve = async (name) => {
    const found = await resolve(name)
    weight += found === null ? 0 : weightOf(found.text)
    if (weight > LARGE) throw new TooLarge()
    return found
  }
  try {
    return await how.here({ ...options, resolve: counted })
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return how.inThread()
  }
}

/** Each alias may repeat most of the text. */
function weightOf(text: string): number {
  if (text.length > LARGE) return text.length
  return text.length * (1 + (text.match(/[\s[{,:-]\*[^\s*]/g)?.length ?? 0))
}

const line = new ThreadLine(AT_A_TIME)

export async function inThread(
  file: string,
  text: string,
  options: ReadOptions,
  limits: StartLimits | null,
): Promise<Answer> {
  return line.during(options.owner ?? '', () => run(file, text, options, limits))
}

function run(
  file: string,
  text: string,
  { resolve, names, strict }: ReadOptions,
  limits: StartLimits | null,
): Promise<Answer> {
  const asks = { resolves: resolve !== undefined, names: names !== undefined }
  const workerData: ThreadTask = { file, text, strict, ...asks, limits }
  const resourceLimits = { maxOldGenerationSizeMb: MOST_MB }
  const worker = new Worker(CODE as URL, { workerData, resourceLimits })
  const answers = async (message: FromThread): Promise<void> => {
    if (!('id' in message)) return
    const answer = 'resolve' in message ? await resolve?.(message.resolve) : await names?.()
    worker.postMessage({ id: message.id, answer: answer ?? null } satisfies ToThread)
  }
  return new Promise<Answer>((done, fail) => {
    const tooMuch = (what: string): void => {
      const message = `the file takes more than ${what} to read`
      fail(new DefinitionError(file, [{ line: 1, column: 1, path: '', message, hint: 'split it into several files' }]))
    }
    const timer = setTimeout(() => tooMuch(`${MOST_MS / 1000} s`), MOST_MS)
    worker.on('message', (message: FromThread) => {
      if ('id' in message) answers(message).catch(fail)
      else if ('error' in message) fail(receivedError(message.error))
      else done(message.answer as Answer)
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
