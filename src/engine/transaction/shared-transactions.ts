/**
 * Acts that may share transactions: those that arrive while the last ones commit form the next one. Each gets what it would have
 * got alone.
 *
 *   waiting → together → committed with the others
 *                └─────→ alone: its own transaction, and what that one throws
 *
 * Alone is an act that throws while it is folded, or whose root another transaction holds: the others neither fail nor wait with
 * it. A shared transaction that fails as a whole is halved (batcher.ts).
 *
 * How many acts share one depends on how long the last one took, so that large trees, or a slow disk, do not make a transaction
 * that others wait for.
 */

import { NeedMore } from '../fold/need.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { type Batch, Batcher } from './batcher.ts'
import { type Act, type Committed, merge, type Pass, type Transactor } from './transactor.ts'

type Entry = Batch<Act<unknown>, Committed<unknown>>

const FEWEST = 4
const MOST = 64
/** A shared transaction should not take longer. */
const LONG_MS = 200

export class SharedTransactions implements Pick<Transactor, 'run'> {
  readonly #transactor: Pick<Transactor, 'run'>
  readonly #batcher: Batcher<Act<unknown>, Committed<unknown>>
  #most = FEWEST

  constructor(transactor: Pick<Transactor, 'run'>) {
    this.#transactor = transactor
    this.#batcher = new Batcher<Act<unknown>, Committed<unknown>>({
      work: (batch) => this.#together(batch),
      most: () => this.#most,
      // Sizes are known only when an act is folded: the time limits them.
      mostBytes: Number.POSITIVE_INFINITY,
      sizeOf: () => 0,
    })
  }

  run<T>(act: Act<T>): Promise<Committed<T>> {
    return this.#batcher.add(act) as Promise<Committed<T>>
  }

  async #together(batch: readonly Entry[]): Promise<void> {
    const alone = new Set<Entry>()
    for (let left = batch; left.length > 1; left = batch.filter((entry) => !alone.has(entry))) {
      const began = performance.now()
      try {
        const committed = await this.#transactor.run(sharedAct(left))
        this.#took(left.length, performance.now() - began)
        const { values } = committed.value
        for (const entry of left) {
          if (values.has(entry)) entry.resolve({ ...committed, value: values.get(entry) })
          else alone.add(entry)
        }
        return this.#apart(alone)
      } catch (error) {
        if (!(error instanceof Thrown)) throw error
        for (const entry of error.entries) alone.add(entry)
      }
    }
    this.#apart(batch)
  }

  /** The next batch does not wait for them. */
  #apart(entries: Iterable<Entry>): void {
    for (const entry of entries) this.#transactor.run(entry.params).then(entry.resolve, entry.reject)
  }

  #took(acts: number, ms: number): void {
    if (ms > LONG_MS) this.#most = Math.max(FEWEST, Math.floor(acts / 2))
    else if (ms < LONG_MS / 4 && acts >= this.#most) this.#most = Math.min(MOST, acts * 2)
  }
}

/** Acts that throw: what they have changed in the working set must not be stored. */
class Thrown extends Error {
  readonly entries: readonly Entry[]
  constructor(entries: readonly Entry[]) {
    super('some acts of a shared transaction throw')
    this.entries = entries
  }
}

interface Shared {
  /** Without those whose roots another transaction holds. */
  readonly values: ReadonlyMap<Entry, unknown>
}

function sharedAct(entries: readonly Entry[]): Act<Shared> {
  const acts = entries.map(({ params }) => params)
  const offering = acts.find(({ offers }) => offers !== undefined)
  return {
    roots: [...new Set(acts.flatMap(({ roots }) => roots))],
    wait: false,
    need: merge(acts.map(({ need }) => need)),
    ...(offering === undefined ? {} : { offers: () => offering.offers?.() ?? [] }),
    fold: (change, pass) => foldAll(change, pass, entries),
  }
}

function foldAll(change: WorkingSet, pass: Pass, entries: readonly Entry[]): Shared {
  const values = new Map<Entry, unknown>()
  const thrown: Entry[] = []
  pass.each(entries, (entry) => {
    const { roots, fold } = entry.params
    if (!roots.every((id) => change.loaded.locked.has(id))) return
    try {
      values.set(entry, fold(change, pass))
    } catch (error) {
      if (error instanceof NeedMore) throw error
      thrown.push(entry)
    }
  })
  if (thrown.length > 0) throw new Thrown(thrown)
  return { values }
}
