/**
 * Reads that may take long, off the event loop: their statements run in threads with connections of their own, two at a
 * time. The code of a read is the same as on the engine's connection: it runs up to the first statement whose rows are
 * not known, the thread is asked for them, and it runs again. It must depend only on rows and the time it began.
 */
import { Worker } from 'node:worker_threads'
import { codeFile } from '../../files.ts'
import { StoreUnavailableError } from '../../kernel/store-errors.ts'
import { type Cells, hasBuiltIn, type Value } from './driver.ts'
import { storeFailure } from './failure.ts'

/** The part of a connection that a read uses. */
export interface Reading {
  statement(sql: string): { get(...values: Value[]): Cells | undefined; all(...values: Value[]): Cells[] }
  /** When it began, by the machine's clock; left out: now. */
  readonly beganAt?: number
}

interface Asked {
  readonly sql: string
  readonly values: readonly Value[]
  readonly one: boolean
}

interface Answer {
  readonly rows?: Cells[]
  readonly error?: { readonly message: string; readonly code?: string; readonly errcode?: number }
}

class Unknown extends Error {
  readonly asked: Asked
  constructor(asked: Asked) {
    super('rows that are not known yet')
    this.asked = asked
  }
}

const THREADS = 2

export class LongReads {
  readonly #path: string
  readonly #all = new Set<Thread>()
  readonly #free: Thread[] = []
  readonly #waiting: ((thread: Thread) => void)[] = []
  #closed = false

  constructor(path: string) {
    this.#path = path
  }

  async run<T>(work: (on: Reading) => T): Promise<T> {
    if (this.#closed) throw new StoreUnavailableError('closed', 'the store is closed')
    const thread = await this.#take()
    const known = new Map<string, Cells[]>()
    const on = replay(known)
    try {
      for (;;) {
        try {
          return work(on)
        } catch (error) {
          if (!(error instanceof Unknown)) throw error
          known.set(keyOf(error.asked), await thread.ask(error.asked))
        }
      }
    } catch (error) {
      throw storeFailure(error)
    } finally {
      thread.done()
      this.#give(thread)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all].map((thread) => thread.close()))
  }

  #take(): Promise<Thread> {
    const free = this.#free.pop()
    if (free !== undefined) return Promise.resolve(free)
    if (this.#all.size < THREADS) {
      const thread = new Thread(this.#path)
      this.#all.add(thread)
      return Promise.resolve(thread)
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #give(thread: Thread): void {
    if (thread.lost) {
      this.#all.delete(thread)
      const next = this.#waiting.shift()
      if (next !== undefined) void this.#take().then(next)
      return
    }
    const next = this.#waiting.shift()
    if (next !== undefined) next(thread)
    else this.#free.push(thread)
  }
}

class Thread {
  readonly #worker: Worker
  #waiting: { resolve(rows: Cells[]): void; reject(error: unknown): void } | null = null
  readonly #exit: Promise<void>
  lost = false

  constructor(path: string) {
    const workerData = { path, builtIn: hasBuiltIn() }
    this.#worker = new Worker(codeFile('store/sqlite/reader-thread.js'), { workerData })
    // The process may end if it has nothing else to do.
    this.#worker.unref()
    this.#worker.on('message', ({ rows, error }: Answer) => {
      const waiting = this.#waiting
      this.#waiting = null
      // Node empties the port of a thread before anything else: answers that arrive while others are processed would
      // follow one another without a turn of the event loop in between, and a line of reads would block everything
      // else.
      setImmediate(() => {
        if (rows !== undefined) waiting?.resolve(rows)
        else waiting?.reject(Object.assign(new Error(error?.message), error))
      })
    })
    const end = (cause: unknown): void => {
      this.lost = true
      const message = 'the thread that reads has ended'
      this.#waiting?.reject(new StoreUnavailableError('reader_lost', message, { cause }))
      this.#waiting = null
    }
    this.#worker.on('error', end)
    this.#exit = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        end(code)
        resolve()
      })
    })
  }

  ask(asked: Asked): Promise<Cells[]> {
    return new Promise((resolve, reject) => {
      if (this.lost) return reject(new StoreUnavailableError('reader_lost', 'the thread that reads has ended'))
      this.#waiting = { resolve, reject }
      this.#worker.ref()
      this.#worker.postMessage(asked)
    }).finally(() => this.#worker.unref()) as Promise<Cells[]>
  }

  done(): void {
    if (!this.lost) this.#worker.postMessage({ done: true })
  }

  async close(): Promise<void> {
    if (this.lost) return
    this.#worker.ref()
    this.#worker.postMessage({ close: true })
    await this.#exit
  }
}

function keyOf({ sql, values, one }: Asked): string {
  return `${one ? 1 : 0}${sql}\n${JSON.stringify(values)}`
}

function replay(known: ReadonlyMap<string, Cells[]>): Reading {
  const rows = (asked: Asked): Cells[] => {
    const found = known.get(keyOf(asked))
    if (found === undefined) throw new Unknown(asked)
    return found
  }
  return {
    beganAt: Date.now(),
    statement: (sql) => ({
      get: (...values) => rows({ sql, values, one: true })[0],
      all: (...values) => rows({ sql, values, one: false }),
    }),
  }
}
