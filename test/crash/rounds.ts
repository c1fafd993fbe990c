/**
 * Processes on one database, one after the other: each finishes what the last left behind, begins new waves and is
 * killed. The last one ends normally, and the database must pass the audit.
 */
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { audit, type Roles } from './audit.ts'
import type { TestDatabase } from './database.ts'
import { type Ends, wrongEnds } from './ends.ts'
import { Program } from './process.ts'

const file = fileURLToPath(new URL('program.mjs', import.meta.url))

export interface Expected {
  /** How each workflow of a wave must end. */
  readonly ends: Ends
  readonly roles: Roles
}

/** Which commands were sent to which process, and which waves were finished. */
export class Rounds {
  readonly #database: TestDatabase
  readonly #settings: object
  readonly #expected: Expected
  /** Waves that began and have not been reported as finished. */
  readonly #unfinished = new Set<string>()
  readonly #wrong: string[] = []
  readonly #began = performance.now()
  /** Waves assigned to the current process. */
  #left = 0
  #finished = 0
  #kills = 0

  constructor(database: TestDatabase, settings: object, expected: Expected) {
    this.#database = database
    this.#settings = { ...settings, url: database.url, effectsFile: database.effectsFile }
    this.#expected = expected
  }

  begin(orders: { readonly next: string | null; readonly arm: object | null }): Program {
    const finish = [...this.#unfinished]
    this.#left = finish.length
    const program = new Program(file, { ...this.#settings, ...orders, finish })
    program.onLine = (line) => {
      if (typeof line['began'] === 'string') this.#unfinished.add(line['began'])
      if (typeof line['finished'] !== 'string') return
      this.#unfinished.delete(line['finished'])
      this.#finished++
      this.#wrong.push(...wrongEnds(line, this.#expected.ends))
    }
    return program
  }

  /** The work of earlier processes has ended, with the expected result. */
  async recovered(program: Program): Promise<void> {
    await program.line('ready')
    for (; this.#left > 0; this.#left--) await program.line('finished')
    expect(this.#wrong).toEqual([])
  }

  async killed(program: Program): Promise<void> {
    expect(await program.kill()).toBe('SIGKILL')
    this.#kills++
  }

  /** A last process finishes everything and ends normally; then the database must pass the audit. */
  async verify(point: string, running: (program: Program) => void): Promise<void> {
    const last = this.begin({ next: null, arm: null })
    running(last)
    await this.recovered(last)
    expect(await last.exit()).toBe('code 0')
    const { violations, counts } = await audit(this.#database, { effects: true, roles: this.#expected.roles })
    const seconds = ((performance.now() - this.#began) / 1000).toFixed(1)
    console.log(
      `${this.#database.kind}, ${point}: ${this.#kills} kills, ${this.#finished} waves in ${seconds} s`,
      JSON.stringify(counts),
    )
    expect(violations).toEqual([])
    expect(this.#unfinished).toEqual(new Set())
  }
}
