/**
 * Findings of a sweep, handled one by one: a failed one is recorded and rests, and the others are reached nevertheless.
 */

import { isStoreAway } from '../../kernel/store-errors.ts'
import type { Faults } from './faults.ts'

export type Find<T> = (params: { readonly limit: number }) => Promise<readonly T[]>

/** How many findings one search returns, besides those that rest. */
export const CHUNK = 500

export const idOf = ({ id }: { readonly id: string }): string => id

export class Findings {
  readonly #faults: Faults
  readonly #isClosed: () => boolean

  constructor(faults: Faults, isClosed: () => boolean) {
    this.#faults = faults
    this.#isClosed = isClosed
  }

  /**
   * Findings that may be tried now. Those that rest, and those `handled` in this pass, may come first in every search, which
   * therefore requests that many more.
   */
  async look<T>(
    place: string,
    find: Find<T>,
    id: (finding: T) => string,
    handled: ReadonlySet<string> = NONE,
  ): Promise<readonly T[]> {
    const limit = CHUNK + this.#faults.kept(place) + handled.size
    const found = await find({ limit })
    if (found.length < limit) this.#faults.only(place, new Set(found.map(id)))
    return found.filter((one) => !handled.has(id(one)) && !this.#faults.rests(place, id(one))).slice(0, CHUNK)
  }

  /** One after another. */
  async each<T>(
    place: string,
    find: Find<T>,
    id: (finding: T) => string,
    handle: (finding: T) => Promise<unknown>,
  ): Promise<void> {
    for (const finding of await this.look(place, find, id)) {
      if (this.#isClosed()) return
      await this.contained(place, id(finding), () => handle(finding))
    }
  }

  /** All at once. */
  async together<T>(
    place: string,
    found: readonly T[],
    id: (finding: T) => string,
    handle: (finding: T) => Promise<unknown>,
  ): Promise<void> {
    const ended = await Promise.allSettled(found.map((one) => this.contained(place, id(one), () => handle(one))))
    for (const one of ended) if (one.status === 'rejected') throw one.reason
  }

  /** false: it failed. Throws only if the store is not available, which concerns all of them. */
  async contained(place: string, id: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      this.#faults.over(place, id)
      return true
    } catch (error) {
      if (isStoreAway(error)) throw error
      this.#faults.note(place, id, error)
      return false
    }
  }
}

const NONE: ReadonlySet<string> = new Set()
