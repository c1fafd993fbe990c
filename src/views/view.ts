/** One instance as an operator wants to see it: as it is now, and event by event until it ends. */

import { PetrelError } from '../kernel/errors.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { GateRow, InstanceRow, RunRow, StoredEvent } from '../model/rows.ts'
import { PAGE_BYTES } from '../model/shown.ts'
import { TERMINAL } from '../net/marking.ts'
import { type NodeFailure, SLOT, slotValue } from '../net/slots.ts'
import { type Cursor, cursorIn, cursorText } from './pictures/cursor.ts'

export interface InstanceView {
  readonly instance: InstanceRow
  readonly error: NodeFailure | null
  readonly undoError: NodeFailure | null
  readonly runs: readonly RunRow[]
  readonly gates: readonly GateRow[]
  readonly children: readonly InstanceRow[]
  /** Where further runs and children follow; null: there are none. */
  readonly next: string | null
}

export interface ViewPage {
  /** `next` of the page before; null: the first page. */
  readonly after: string | null
  /** Runs, and children, of one page. */
  readonly limit: number
}

/** Runs, children and open gates that one page has at most. */
export const MOST_VIEWED = 1000
const FIRST_PAGE: ViewPage = { after: null, limit: MOST_VIEWED }

/**
 * With a page of its runs and children. Pages follow the places of the rows, along an index, so that each costs the same
 * however many rows there are; within a page the rows are in the order in which they were created.
 */
export async function viewOf(
  queries: Queries,
  instanceId: string,
  { after, limit }: ViewPage = FIRST_PAGE,
): Promise<InstanceView | null> {
  const instance = await queries.instance(instanceId)
  if (instance === null) return null
  const at = after === null ? BEGIN : (viewPlaces(after) ?? BEGIN)
  const [errors, runs, gates, children] = await Promise.all([
    queries.slots({ instanceId, prefix: SLOT.error.prefix }),
    runsFrom(queries, instanceId, at.runs, limit),
    queries.shownGates({ instanceId, limit: MOST_VIEWED }),
    childrenFrom(queries, instanceId, at.children, limit),
  ])
  const error = slotValue(errors, SLOT.error.key)
  const undoError = slotValue(errors, SLOT.undoError.key)
  const next = runs.next === null && children.next === null ? null : [runs.next ?? '', children.next ?? ''].join('.')
  return { instance, error, undoError, runs: created(runs.rows), gates, children: created(children.rows), next }
}

interface ViewPlaces {
  /** null: all of them have been shown. */
  readonly runs: Cursor | null
  readonly children: Cursor | null
}

const BEGIN: ViewPlaces = { runs: { section: 'run', after: null }, children: { section: 'child', after: null } }

/** null: not the `next` of a view. */
export function viewPlaces(text: string): ViewPlaces | null {
  const [runs, children, ...rest] = text.split('.')
  if (runs === undefined || children === undefined || rest.length > 0) return null
  const of = (part: string, ...sections: readonly string[]): Cursor | null | undefined => {
    const cursor = part === '' ? null : cursorIn(part)
    return part === '' || (cursor !== null && sections.includes(cursor.section)) ? cursor : undefined
  }
  const places = { runs: of(runs, 'run'), children: of(children, 'child', 'detached') }
  return places.runs === undefined || places.children === undefined ? null : (places as ViewPlaces)
}

interface Rows<R> {
  readonly rows: readonly R[]
  readonly next: string | null
}

async function runsFrom(
  { places }: Queries,
  instanceId: string,
  at: Cursor | null,
  limit: number,
): Promise<Rows<RunRow>> {
  if (at?.section !== 'run') return { rows: [], next: null }
  const page = { instanceId, node: null, after: at.after, limit: limit + 1, maxBytes: PAGE_BYTES }
  const found = await places.shownRuns(page)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  if (found.length <= limit || last === undefined) return { rows, next: null }
  const { node, fire, item, role } = last
  return { rows, next: cursorText({ section: 'run', after: { node: node ?? '', fire, item, role } }) }
}

/** First those with a place, then the detached ones. */
async function childrenFrom(
  { places }: Queries,
  instanceId: string,
  at: Cursor | null,
  limit: number,
): Promise<Rows<InstanceRow>> {
  if (at === null) return { rows: [], next: null }
  const attached =
    at.section === 'child' ? await places.children({ instanceId, node: null, after: at.after, limit: limit + 1 }) : []
  const room = limit + 1 - attached.length
  const after = at.section === 'detached' ? at.after : null
  const detached = room > 0 ? await places.detached({ instanceId, after, limit: room }) : []
  const found = [...attached, ...detached]
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  if (found.length <= limit || last === undefined) return { rows, next: null }
  const { id, parentNode: node, parentFire: fire, parentItem: item } = last
  const place: Cursor =
    node === null ? { section: 'detached', after: id } : { section: 'child', after: { node, fire, item } }
  return { rows, next: cursorText(place) }
}

/** Ids grow with the time of creation. */
function created<R extends { readonly id: string }>(rows: readonly R[]): readonly R[] {
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}

const EVENTS_PER_PAGE = 200
const POLL_MS = 500

/** The events of one instance by their seq, until the last one has been yielded. */
export async function* follow(p: {
  readonly queries: Queries
  readonly instanceId: string
  readonly signal: AbortSignal | null
  readonly onWake: (listener: () => void) => () => void
}): AsyncGenerator<StoredEvent> {
  const { queries, instanceId, signal } = p
  let woken = true
  let wake: (() => void) | null = null
  const unsubscribe = p.onWake(() => {
    woken = true
    wake?.()
  })
  try {
    for (let afterSeq = 0; ; ) {
      if (signal?.aborted === true) return
      woken = false
      const instance = await queries.instance(instanceId)
      if (instance === null)
        throw new PetrelError('not_found', `there is no instance ${instanceId}`, { id: instanceId })
      const page = await queries.instanceEvents({ instanceId, afterSeq, limit: EVENTS_PER_PAGE })
      for (const event of page) {
        afterSeq = event.seq ?? afterSeq
        yield event
      }
      if (woken || (page.length > 0 && afterSeq < instance.eventSeq)) continue
      if (TERMINAL.has(instance.state) && afterSeq >= instance.eventSeq) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        signal?.addEventListener('abort', wake, { once: true })
        if (woken) wake()
      })
      wake = null
    }
  } finally {
    unsubscribe()
  }
}
