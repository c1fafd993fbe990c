/**
 * Commits of other processes are noticed by `PRAGMA data_version`, which changes with each of them and with none of
 * ours. It does not reveal what changed, so the wake is empty: look at everything. Without listeners there is no
 * polling.
 */
import type { Wake } from '../store.ts'
import type { Connection } from './connection.ts'

export class WakePoll {
  readonly #connection: Connection
  readonly #everyMs: number
  readonly #listeners = new Set<(wake: Wake) => void>()
  #timer: NodeJS.Timeout | null = null
  #version: number | null = null

  constructor(connection: Connection, everyMs: number) {
    this.#connection = connection
    this.#everyMs = everyMs
  }

  listen(listener: (wake: Wake) => void): () => void {
    // A new function each time, so that a listener added twice is called twice.
    const entry = (wake: Wake) => listener(wake)
    this.#listeners.add(entry)
    this.#start()
    return () => {
      this.#listeners.delete(entry)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  #start(): void {
    if (this.#timer !== null || this.#connection.memory) return
    this.#version = this.#read()
    this.#timer = setInterval(() => this.#look(), this.#everyMs)
    this.#timer.unref()
  }

  #look(): void {
    const version = this.#read()
    if (version === null || version === this.#version) return
    this.#version = version
    for (const listener of [...this.#listeners]) listener({})
  }

  /** null: locked at this moment; the next look will succeed. */
  #read(): number | null {
    try {
      return this.#connection.statement('PRAGMA data_version').get()?.[0] as number
    } catch {
      return null
    }
  }
}
