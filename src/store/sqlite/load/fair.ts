/**
 * Whose turn it is among the keys of a queue (decision 044). The keys that have due runs form a ring in byte order. Each key
 * in turn gives as many runs as it weighs; the turn begins where the last claim left it, in the middle of a key if need be. The
 * index leads from key to key, so a claim visits about as many keys as it takes runs, however many there are and however much
 * waits under each. Keys whose runs are due later are passed by, at most MOST_VISITED in one claim.
 */
import { fairScope } from '../../../model/queues/fair.ts'
import type { Candidates, ClaimFilter } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'

const MOST_VISITED = 2_000

const OF_KEYS = `FROM workflow_run INDEXED BY idx_workflow_run_fair
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ?1 AND type = ?2 AND priority = ?3`
/** `+ 0`: see claimable.ts. */
const NEXT_KEY = `SELECT fair_key ${OF_KEYS} AND fair_key > ?4 ORDER BY fair_key LIMIT 1`
const DUE = `SELECT id, run_at ${OF_KEYS} AND fair_key = ?4 AND run_at <= ?5 AND (expires_at IS NULL OR expires_at > ?5)
  AND (?6 IS NULL OR tenant = ?6)
  AND (limit_key IS NULL OR limit_key NOT IN (SELECT value FROM json_each(?7))) ORDER BY run_at, id LIMIT ?8 + 0`
const LAST = 'SELECT key, used FROM workflow_fair_turn WHERE queue = ? AND priority = ? AND scope = ?'
const WEIGHT = 'SELECT weight FROM workflow_fair_weight WHERE queue = ? AND key = ?'

/** A queue and priority whose keys take turns, and the types that may be taken. */
export interface Ring {
  readonly queue: string
  readonly priority: number
  readonly types: readonly string[]
}

export interface FairRun {
  readonly id: string
  readonly runAt: number
  readonly key: string
  /** How many runs of its turn the key has given with this one. */
  readonly used: number
}

interface Entry {
  readonly key: string
  readonly weight: number
  /** Runs with which the key ends the turn that the last claim interrupted. */
  readonly head: number
  /** Only those: the other keys have enough. */
  readonly headOnly: boolean
}

type Wanted = ClaimFilter & Partial<Pick<Candidates, 'skipLimitKeys'>>

/** The next runs by turns: at most `wanted`. */
export function fairRuns(
  connection: Connection,
  ring: Ring,
  filter: Wanted,
  now: number,
  wanted: number,
): readonly FairRun[] {
  const walk = new Walk(connection, ring, filter, now)
  const [lastKey = '', used = null] = (connection.statement(LAST).get(ring.queue, ring.priority, fairScope(filter)) ??
    []) as [string?, number?]
  const head = used === null ? 0 : Math.max(0, walk.weightOf(lastKey) - used)
  const started = head === 0 ? 0 : walk.due(lastKey, Math.min(head, wanted)).length
  const entries = walk.keysFrom(lastKey, wanted - started).map((key) => {
    const own = key === lastKey ? head : 0
    return { key, weight: walk.weightOf(key), head: own, headOnly: false }
  })
  let laps = Math.max(1, Math.ceil(wanted / Math.max(1, sum(entries.map(({ weight }) => weight)))))
  if (started > 0 && !entries.some(({ key }) => key === lastKey)) {
    entries.push({ key: lastKey, weight: walk.weightOf(lastKey), head, headOnly: true })
  }
  for (;;) {
    const { runs, more } = inTurn(entries, laps, (key, most) => walk.due(key, Math.min(most, wanted)))
    if (runs.length >= wanted || !more) return runs.slice(0, wanted)
    laps *= 4
  }
}

class Walk {
  readonly #connection: Connection
  readonly #ring: Ring
  readonly #filter: Wanted
  readonly #now: number
  readonly #full: string

  constructor(connection: Connection, ring: Ring, filter: Wanted, now: number) {
    this.#connection = connection
    this.#ring = ring
    this.#filter = filter
    this.#now = now
    this.#full = JSON.stringify(filter.skipLimitKeys ?? [])
  }

  weightOf(key: string): number {
    return (this.#connection.statement(WEIGHT).get(this.#ring.queue, key)?.[0] as number | undefined) ?? 1
  }

  /** Keys with due runs, from the one after `last` once around, until their turns have enough. */
  keysFrom(last: string, wanted: number): readonly string[] {
    const keys: string[] = []
    let found = 0
    let here = last
    let wrapped = false
    for (let visited = 0; found < wanted && visited < MOST_VISITED; visited++) {
      let next = this.#keyAfter(here)
      if (next === null && !wrapped) {
        wrapped = true
        next = this.#keyAfter('')
      }
      if (next === null || (wrapped && isAfter(next, last))) break
      here = next
      const due = this.due(next, Math.min(this.weightOf(next), wanted)).length
      if (due > 0) keys.push(next)
      found += due
    }
    return keys
  }

  /** The first due runs of a key: id and run_at. */
  due(key: string, most: number): readonly Cells[] {
    const { queue, priority, types } = this.#ring
    const statement = this.#connection.statement(DUE)
    const found = types.flatMap((type) =>
      statement.all(queue, type, priority, key, this.#now, this.#filter.tenant, this.#full, most),
    )
    return types.length === 1 ? found : found.sort(byDue).slice(0, most)
  }

  #keyAfter(key: string): string | null {
    const { queue, priority, types } = this.#ring
    let first: string | null = null
    for (const type of types) {
      const found = this.#connection.statement(NEXT_KEY).get(queue, type, priority, key)?.[0] as string | undefined
      if (found !== undefined && (first === null || isAfter(first, found))) first = found
    }
    return first
  }
}

/** Lap by lap around the ring. `more`: some key may have further runs. */
function inTurn(
  entries: readonly Entry[],
  laps: number,
  dueOf: (key: string, most: number) => readonly Cells[],
): { readonly runs: readonly FairRun[]; readonly more: boolean } {
  const byLap: FairRun[][] = []
  let more = false
  for (const { key, weight, head, headOnly } of entries) {
    const most = head + (headOnly ? 0 : laps * weight)
    const due = dueOf(key, most)
    more ||= due.length === most && !headOnly
    for (const [at, [id, runAt]] of due.entries()) {
      const lap = at < head ? 0 : 1 + Math.floor((at - head) / weight)
      const used = at < head ? weight - head + at + 1 : ((at - head) % weight) + 1
      ;(byLap[lap] ??= []).push({ id: id as string, runAt: runAt as number, key, used })
    }
  }
  return { runs: byLap.flat(), more }
}

function byDue(a: Cells, b: Cells): number {
  return (a[1] as number) - (b[1] as number) || ((a[0] as string) < (b[0] as string) ? -1 : 1)
}

/** In byte order, as the index has it; the order of UTF-16 differs beyond the basic plane. */
function isAfter(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
