/**
 * What changes in the store, for all live pages of this server together. One loop reads the feed while anyone waits, at most
 * four times a second, and keeps a digest of each look: which instances changed and into which state, and which areas. A
 * client takes everything after its place in one message, however much that is, so a slow one skips forward.
 *
 *   place among the digests   they are merged; of the instances, the newest MOST_INSTANCES
 *   place before them         it is unknown what changed: everything may have
 *
 * The loop stops when no client waits, and begins again at the end of the feed.
 */
import type { Queries } from '../../model/queries/queries.ts'
import type { StoredEvent } from '../../model/rows.ts'
import { type Caller, maySee } from '../caller.ts'
import { AREAS, type Area, areasOf } from './areas.ts'

const EVERY_MS = 250
const PORTION = 1_000
/** Of one look; if there is more, the rest is skipped. */
const MOST_PORTIONS = 5
const MOST_INSTANCES = 200
/** A minute of digests. */
const KEPT = 240

interface ChangedInstance {
  readonly id: string
  readonly state: string
  readonly tenant: string | null
}

interface Digest {
  readonly upTo: number
  /** The one that changed last comes last. */
  readonly instances: readonly ChangedInstance[]
  /** More instances changed, or events were skipped. */
  readonly more: boolean
  /** Tenants whose events concerned an area. */
  readonly areas: ReadonlyMap<Area, ReadonlySet<string | null>>
}

export interface Change {
  readonly seq: number
  readonly instances: readonly (readonly [id: string, state: string])[]
  readonly more: boolean
  readonly areas: readonly Area[]
}

export class Changes {
  readonly #queries: Queries
  readonly #waiting = new Set<() => void>()
  #digests: Digest[] = []
  /** Digests cover what came after this place. */
  #from = 0
  #place = 0
  #running: Promise<void> | null = null
  #begun: Promise<void> | null = null

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** null: nothing that the caller may see. `after` null: from now on. */
  async since(
    after: number | null,
    caller: Caller,
  ): Promise<{ readonly change: Change | null; readonly place: number }> {
    if (this.#running === null) await this.#begin()
    const place = this.#place
    if (after === null) return { change: { seq: place, instances: [], more: false, areas: [] }, place }
    if (after < this.#from || after > place)
      return { change: { seq: place, instances: [], more: true, areas: AREAS }, place }
    return {
      change: merged(
        this.#digests.filter(({ upTo }) => upTo > after),
        place,
        caller,
      ),
      place,
    }
  }

  /** Resolves when something has come after this place, or with the signal. */
  async moved(after: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || (this.#running !== null && after !== this.#place)) return
    const news = new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
    this.#run()
    await news
  }

  /** After a pause of the loop it is unknown what happened, unless nothing did. */
  #begin(): Promise<void> {
    this.#begun ??= this.#queries
      .feedEnd()
      .then((end) => {
        if (this.#running !== null || end === this.#place) return
        this.#digests = []
        this.#from = end
        this.#place = end
      })
      .finally(() => {
        this.#begun = null
      })
    return this.#begun
  }

  #run(): void {
    this.#running ??= this.#loop().finally(() => {
      this.#running = null
    })
  }

  /** A client that has been sent something comes back within the time of a few looks. */
  async #loop(): Promise<void> {
    for (let idle = 0; idle < 4; idle = this.#waiting.size === 0 ? idle + 1 : 0) {
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS).unref())
      if (this.#waiting.size === 0) continue
      // If the store does not answer, the next look tries again.
      const digest = await this.#look().catch(() => null)
      if (digest === null) continue
      this.#place = digest.upTo
      this.#digests.push(digest)
      if (this.#digests.length > KEPT) this.#from = (this.#digests.shift() as Digest).upTo
      for (const done of this.#waiting) done()
    }
  }

  async #look(): Promise<Digest | null> {
    const events: StoredEvent[] = []
    let upTo = this.#place
    for (let portion = 0; portion < MOST_PORTIONS; portion++) {
      const found = await this.#queries.feed({ afterId: upTo, limit: PORTION })
      if (found.length === 0) return events.length === 0 ? null : this.#digest(events, upTo, false)
      events.push(...found)
      upTo = (found.at(-1) as StoredEvent).id
    }
    return this.#digest(events, Math.max(upTo, await this.#queries.feedEnd()), true)
  }

  async #digest(events: readonly StoredEvent[], upTo: number, skipped: boolean): Promise<Digest> {
    const areas = new Map<Area, Set<string | null>>()
    const tenants = new Map<string, string | null>()
    for (const { type, instanceId, tenant } of events) {
      for (const area of skipped ? AREAS : areasOf(type)) areas.set(area, (areas.get(area) ?? new Set()).add(tenant))
      if (instanceId === null) continue
      tenants.delete(instanceId)
      tenants.set(instanceId, tenant)
    }
    const newest = [...tenants].slice(-MOST_INSTANCES)
    const states =
      newest.length === 0 ? new Map() : await this.#queries.progress({ instanceIds: newest.map(([id]) => id) })
    const instances = newest.flatMap(([id, tenant]) => {
      const state = states.get(id)?.state
      return state === undefined ? [] : [{ id, state, tenant }]
    })
    return { upTo, instances, more: skipped || tenants.size > newest.length, areas }
  }
}

function merged(digests: readonly Digest[], seq: number, caller: Caller): Change | null {
  const states = new Map<string, string>()
  for (const { id, state, tenant } of digests.flatMap(({ instances }) => instances)) {
    if (!maySee(caller, { tenant })) continue
    states.delete(id)
    states.set(id, state)
  }
  const concerns = (area: Area): boolean =>
    digests.some(({ areas }) => [...(areas.get(area) ?? [])].some((tenant) => maySee(caller, { tenant })))
  const areas = AREAS.filter(concerns)
  const instances = [...states].slice(-MOST_INSTANCES)
  const more = states.size > instances.length || digests.some((digest) => digest.more)
  return instances.length === 0 && areas.length === 0 && !more ? null : { seq, instances, more, areas }
}
