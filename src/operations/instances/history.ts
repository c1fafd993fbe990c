/** The history of instances: pages of it, the same in a notation's own terms, telemetry, and following one instance. */
import { PetrelError } from '../../kernel/errors.ts'
import type { InstanceRow, StoredEvent } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { LogAsked, LogPage } from '../../notations/interface/events.ts'
import type { Projection } from '../../notations/interface/projection.ts'
import { NOTATIONS, projectionOf } from '../../notations/notations.ts'
import { workersAt } from '../../views/pictures/who.ts'
import { operation } from '../operation.ts'
import { findInstance, netOf } from './find.ts'

interface Asked {
  readonly id: string
  /** Events after this seq. */
  readonly after: number
  readonly limit: number
}

/** `workers`: who executed, by id of the event. */
export interface HistoryPage extends EventPage {
  readonly workers: ReadonlyMap<number, string>
}

export interface EventPage<E = StoredEvent> {
  readonly events: readonly E[]
  /** The cursor of the next page. */
  readonly next: number
  readonly more: boolean
}

export const listEvents = operation(
  { scope: 'read' },
  async (use, { id, after, limit }: Asked): Promise<HistoryPage> => {
    const row = await findInstance(use, id)
    const { queries } = use.engine
    const events = await queries.instanceEvents({ instanceId: row.id, afterSeq: after, limit })
    return { ...pageAfter(row, after, events), workers: await workersAt(queries, row, events) }
  },
)

/** Batches read by a stream of one instance. */
export interface Followed {
  read(after: number, limit: number): Promise<Portion>
  /** Resolves when there is more to read, or with the signal. */
  moved(after: number, signal: AbortSignal): Promise<void>
}

export interface Portion {
  /** null: it has been removed. */
  readonly row: InstanceRow | null
  readonly events: readonly StoredEvent[]
  /** Who executed, by id of the event. */
  readonly workers: ReadonlyMap<number, string>
  readonly more: boolean
  /** No further events will follow. */
  readonly ended: boolean
}

export const followInstance = operation(
  { scope: 'read' },
  async (use, { id }: { readonly id: string }): Promise<Followed> => {
    const { id: instanceId } = await findInstance(use, id)
    const { queries } = use.engine
    return {
      read: async (after, limit) => {
        // Read before the events: an end that is seen here has all its events already.
        const row = await queries.instance(instanceId)
        const some = row === null || row.eventSeq > after
        const events = some ? await queries.instanceEvents({ instanceId, afterSeq: after, limit }) : []
        const more = events.length > 0 && row !== null && row.eventSeq > (events.at(-1)?.seq ?? after)
        const workers = row === null ? new Map<number, string>() : await workersAt(queries, row, events)
        return { row, events, workers, more, ended: !more && (row === null || TERMINAL.has(row.state)) }
      },
      moved: (after, signal) => use.watch.moved(instanceId, after, signal),
    }
  },
)

/** In the terms of the notation. */
export const listExecutionEvents = operation(
  { scope: 'read' },
  async (use, { id, ...asked }: LogAsked & { readonly id: string }): Promise<LogPage> => {
    const instance = await findInstance(use, id)
    const { events } = projectionOf(instance)
    if (events === undefined) throw unsupported('events in the words of the notation', 'events', instance)
    return events.page(use.engine, instance, await netOf(use, instance), asked)
  },
)

const TELEMETRY = NOTATIONS.flatMap(({ project }) => project.telemetry ?? [])
const TYPES = [...new Set(TELEMETRY.flatMap(({ types }) => types))]

/** Of one instance. */
export const instanceTelemetry = operation(
  { scope: 'read' },
  async (use, { id, after, limit }: Asked): Promise<EventPage<object>> => {
    const row = await findInstance(use, id)
    const { telemetry } = projectionOf(row)
    if (telemetry === undefined) throw unsupported('events of telemetry', 'telemetry', row)
    const stored = await use.engine.queries.instanceEvents({ instanceId: row.id, afterSeq: after, limit })
    return { ...pageAfter(row, after, stored), events: await telemetry.load(use.engine, stored) }
  },
)

/** Of all instances, in the order of their events. */
export const allTelemetry = operation(
  { scope: 'read' },
  async ({ engine, caller }, { after, limit }: Omit<Asked, 'id'>): Promise<EventPage<object>> => {
    const page = await engine.queries.events({ afterId: after, limit, types: TYPES, tenant: caller.tenant })
    const loaded = await Promise.all(TELEMETRY.map((telemetry) => telemetry.load(engine, page.events)))
    return { events: loaded.flat(), next: page.cursor, more: page.more }
  },
)

function pageAfter({ eventSeq }: InstanceRow, after: number, events: readonly StoredEvent[]): EventPage {
  const last = events.at(-1)?.seq ?? null
  return { events, next: last ?? after, more: last !== null && last < eventSeq }
}

/** Some notations provide it, and the instance is of a different one. */
function unsupported(what: string, part: keyof Projection, { id, dialect }: InstanceRow): PetrelError {
  const kinds = NOTATIONS.filter(({ project }) => project[part] !== undefined).map(({ project }) => project.terms.kind)
  const message = `${what}: a ${kinds.join(' or a ')} has them; this instance is of ${dialect}`
  return new PetrelError('unsupported', message, { hint: `GET /v1/instances/${id}/events has its history.` })
}
