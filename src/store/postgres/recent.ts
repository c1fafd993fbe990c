/**
 * Rows as this process last wrote or locked them, with the version (xid) of each: runs in flight, running instances,
 * their slots. A settle mostly touches the rows that the settle before it wrote; one that finds everything here is
 * decided without a read. Its updates apply only to rows that still have the remembered version, a guard sent ahead
 * checks the rest, and if anything differs all is refused. So a stale memory costs a round trip, but never gives a
 * wrong result.
 *
 * Slots have no version of their own: writing a slot always writes its instance too (write/apply.ts ensures it). Limits
 * and queues are not remembered at all: a transaction assumes that nothing limits or pauses its runs, except where it
 * recently met the contrary. The registry is remembered as a whole (listings.ts).
 */
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import type { Delta, Need } from '../../model/transaction.ts'
import type { Transaction } from '../store.ts'
import type { Estimate } from './clock.ts'
import { textArray, uuidArray } from './connection/batch.ts'
import { type Call, statement } from './connection/statement.ts'
import type { Listings } from './listings.ts'
import { Loading } from './load/loading.ts'
import type { Versions } from './write/apply.ts'

const EXPECTED = `workflow.expect_rows($1::float8, $2::float8,
  $3::uuid[], $4::xid[], $5::uuid[], $6::xid[], $7::text[], $8::text[], $9::text)`

const EXPECT_ROWS = statement(`SELECT ${EXPECTED}`)

/** The same where there is no row to lock, the usual case: the function is only called to report an error. */
const EXPECT_RULES = statement(
  `SELECT CASE WHEN
     coalesce((SELECT s.value::float8 FROM workflow.workflow_setting s WHERE s.key = 'clock_offset_ms'), 0) = $2::float8
     AND to_timestamp(($1::float8 - $2::float8) / 1000) <= now()
     AND NOT EXISTS (SELECT FROM workflow.workflow_limit l WHERE l.key = ANY ($8::text[]))
     AND NOT EXISTS (SELECT FROM workflow.workflow_queue q WHERE q.name = ANY ($7::text[]) AND q.paused)
     AND coalesce((SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'registry_version'), '') = $9::text
   THEN pg_current_xact_id()::xid ELSE ${EXPECTED} END`,
)

const MOST = 20_000
/** Longer texts are loaded when needed: twenty thousand of them would take gigabytes. */
const LONGEST = 4_096
/** Versions are 32 bits wide and wrap around, on the busiest server after hours. */
const LASTS_MS = 600_000
/** How long a limit or a pause, once met, is expected to persist. */
const RULED_MS = 1_000

interface Known<Row> {
  readonly row: Row
  readonly version: string
  readonly at: number
}

interface KnownInstance extends Known<InstanceRow> {
  /** By key; null: known absent. */
  readonly slots: Map<string, string | null>
  /** true: a key that is not in `slots` is absent. */
  whole: boolean
}

export interface Recalled {
  readonly loading: Loading
  readonly versions: Versions
  /**
   * Refuses the writes unless clock, registry, rules and the rows without a checking update are as assumed; `version`
   * receives the transaction's own.
   */
  guard(clock: Estimate, listings: Listings, version: (xid: string) => void): Call
}

/** The parts of a Need that can be answered from memory, or together with the writes. */
const RECALLABLE: ReadonlySet<keyof Need> = new Set<keyof Need>([
  'runs',
  'instances',
  'slots',
  'queues',
  'limits',
  'nextUrgency',
])

export class Recent {
  readonly #runs = new Map<string, Known<RunRow>>()
  readonly #instances = new Map<string, KnownInstance>()
  /** Queues and limit keys recently met with a pause or a limit, and until when that counts. */
  readonly #ruled = new Map<string, number>()

  /** The rows for the transaction, if all of them are remembered. */
  recall({ roots, need }: Pick<Transaction<unknown>, 'roots' | 'need'>): Recalled | null {
    for (const part in need) {
      if (!RECALLABLE.has(part as keyof Need) && (need[part as keyof Need] as readonly unknown[]).length !== 0)
        return null
    }
    const now = performance.now()
    for (const queue of need.queues ?? []) if (this.#isRuled(`queue ${queue}`, now)) return null
    for (const key of need.limits ?? []) if (this.#isRuled(key, now)) return null
    const loading = new Loading(null)
    const instances = new Map<string, string>()
    const runs = new Map<string, string>()
    for (const id of roots) {
      if (!this.#recallInstance(id, loading, instances, now)) return null
      loading.locked.add(id)
    }
    for (const id of need.instances ?? []) if (!this.#recallInstance(id, loading, instances, now)) return null
    for (const { instanceId, keys } of need.slots ?? []) {
      if (!this.#recallInstance(instanceId, loading, instances, now)) return null
      const { slots, whole } = this.#instances.get(instanceId) as KnownInstance
      for (const key of keys) {
        const value = slots.get(key)
        if (value === undefined && !whole) return null
        loading.slots.set(`${instanceId}/${key}`, value ?? null)
      }
    }
    for (const id of need.runs ?? []) {
      const known = this.#runs.get(id)
      if (known === undefined || now - known.at > LASTS_MS) return null
      loading.runs.set(id, known.row)
      loading.heldRuns.set(id, known.row)
      runs.set(id, known.version)
    }
    const { queues = [], limits = [] } = need
    const versions = { instances, runs, checked: new Set<string>() }
    return {
      loading,
      versions,
      guard: (clock, listings, version) => guardCall({ clock, listings, versions, queues, limits }, version),
    }
  }

  /** A server that lost commits reuses their xids: a version no longer identifies a row's content. */
  clear(): void {
    this.#runs.clear()
    this.#instances.clear()
    this.#ruled.clear()
  }

  /** Something here was not as assumed: load it next time. */
  forget({ roots, need }: Pick<Transaction<unknown>, 'roots' | 'need'>): void {
    for (const id of roots) this.#instances.delete(id)
    for (const id of need.instances ?? []) this.#instances.delete(id)
    this.forgetRuns(need.runs ?? [])
  }

  forgetRuns(ids: readonly string[]): void {
    for (const id of ids) this.#runs.delete(id)
  }

  /** Pauses and limits that a transaction met. */
  note({ queues, limits }: Loading): void {
    if (queues.size === 0 && limits.size === 0) return
    const until = performance.now() + RULED_MS
    if (this.#ruled.size > MOST) this.#ruled.clear()
    for (const { name, paused } of queues.values()) if (paused) this.#ruled.set(`queue ${name}`, until)
    for (const key of limits.keys()) this.#ruled.set(key, until)
  }

  /** After the commit of this delta under `version`. `loading`: what it was decided on. */
  keep(delta: Delta, loading: Loading, version: string): void {
    const at = performance.now()
    const slots = slotsByInstance(delta, loading)
    for (const row of delta.instances?.insert ?? []) {
      this.#keepInstance(row, version, at, small({ slots: slots.get(row.id) ?? new Map(), whole: true }))
    }
    for (const row of delta.instances?.update ?? []) {
      const known = this.#instances.get(row.id)
      const same = known !== undefined && known.row === loading.instances.get(row.id)
      const written = slots.get(row.id) ?? new Map<string, string | null>()
      this.#keepInstance(row, version, at, same ? merged(known, written) : small({ slots: written, whole: false }))
    }
    for (const id of delta.runs?.remove ?? []) this.#runs.delete(id)
    for (const run of delta.runs?.update ?? []) this.#keepRun(run, version, at)
    for (const run of delta.runs?.insert ?? []) this.#keepRun(run, version, at)
    // Signals change rows that are not named individually, including those this delta has just written.
    if (delta.signal !== undefined && delta.signal.length > 0) this.#runs.clear()
    if (this.#runs.size > MOST) this.#runs.clear()
    if (this.#instances.size > MOST) this.#instances.clear()
  }

  #isRuled(key: string, now: number): boolean {
    const until = this.#ruled.get(key)
    return until !== undefined && until > now
  }

  #recallInstance(id: string, loading: Loading, versions: Map<string, string>, now: number): boolean {
    if (versions.has(id)) return true
    const known = this.#instances.get(id)
    if (known === undefined || now - known.at > LASTS_MS) return false
    loading.instances.set(id, known.row)
    versions.set(id, known.version)
    return true
  }

  #keepInstance(row: InstanceRow, version: string, at: number, { slots, whole }: KnownSlots): void {
    if (row.endedAt !== null) this.#instances.delete(row.id)
    else this.#instances.set(row.id, { row, version, at, slots, whole })
  }

  /** Only runs in flight: a pending run is next met as a candidate, which is read from the table. */
  #keepRun(row: RunRow, version: string, at: number): void {
    if (row.status === 'leased' && row.payload.length <= LONGEST) this.#runs.set(row.id, { row, version, at })
    else this.#runs.delete(row.id)
  }
}

function guardCall(
  assumed: {
    readonly clock: Estimate
    readonly listings: Listings
    readonly versions: Versions
    readonly queues: readonly string[]
    readonly limits: readonly string[]
  },
  version: (xid: string) => void,
): Call {
  const { checked } = assumed.versions
  const unchecked = (of: ReadonlyMap<string, string>): string[] => {
    const ids: string[] = []
    for (const id of of.keys()) if (!checked.has(id)) ids.push(id)
    return ids.sort()
  }
  const runs = unchecked(assumed.versions.runs)
  // Roots are always locked before runs: if a run must be locked here, so must every instance.
  const instances =
    runs.length > 0 ? [...assumed.versions.instances.keys()].sort() : unchecked(assumed.versions.instances)
  const versions = (ids: readonly string[], of: ReadonlyMap<string, string>): string =>
    `{${ids.map((id) => of.get(id)).join(',')}}`
  return {
    statement: instances.length + runs.length === 0 ? EXPECT_RULES : EXPECT_ROWS,
    values: [
      String(assumed.clock.now),
      String(assumed.clock.offsetMs),
      uuidArray(instances),
      versions(instances, assumed.versions.instances),
      uuidArray(runs),
      versions(runs, assumed.versions.runs),
      textArray(assumed.queues),
      textArray(assumed.limits),
      assumed.listings.version,
    ],
    row: (fields) => version(fields[0] as string),
  }
}

type KnownSlots = Pick<KnownInstance, 'slots' | 'whole'>

/** Without the texts that are too long to remember. */
function small({ slots, whole }: KnownSlots): KnownSlots {
  let all = whole
  for (const [key, value] of slots) {
    if (value === null || value.length <= LONGEST) continue
    slots.delete(key)
    all = false
  }
  return { slots, whole: all }
}

/** Reads only the written slots: a large workflow has thousands, and one settle touches a few. */
function merged({ slots, whole }: KnownSlots, written: ReadonlyMap<string, string | null>): KnownSlots {
  let all = whole
  for (const [key, value] of written) {
    if (value !== null && value.length > LONGEST) {
      slots.delete(key)
      all = false
    } else if (value === null && all) slots.delete(key)
    else slots.set(key, value)
  }
  return { slots, whole: all }
}

const ID_LENGTH = 36

/** The slots that are known now, per instance: as loaded, then as written. */
function slotsByInstance(delta: Delta, loading: Loading): Map<string, Map<string, string | null>> {
  const all = new Map<string, Map<string, string | null>>()
  const set = (instanceId: string, key: string, value: string | null): void => {
    const slots = all.get(instanceId)
    if (slots === undefined) all.set(instanceId, new Map([[key, value]]))
    else slots.set(key, value)
  }
  for (const [name, value] of loading.slots) set(name.slice(0, ID_LENGTH), name.slice(ID_LENGTH + 1), value)
  for (const { instanceId, key } of delta.slots?.remove ?? []) set(instanceId, key, null)
  for (const { instanceId, key, value } of delta.slots?.put ?? []) set(instanceId, key, value)
  return all
}
