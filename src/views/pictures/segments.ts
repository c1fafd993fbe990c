/**
 * What a run did from its creation to its end, as segments that follow one another without gaps: for each attempt it waits,
 * and then a worker executes it.
 *
 *   waiting, until a time   scheduled (due later), retry (between two attempts), activation (held until it is activated)
 *   waiting, when due       queue: for a worker, a limit, or a queue that is paused; the history does not record which
 *   waiting, when held      start: a worker has it and has not reported a start; completion: deferred, completed by its id
 *   waiting, after an end   gate: for the approval of what governance forbade; ended: until it was redriven
 *   running                 from the reported start to the outcome, or until it is deferred
 *
 * Times in the history come from several clocks, so each boundary is kept between the one before it and the end of its event.
 */
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { StoredData } from '../../model/events/events.ts'
import type { StepRun } from '../../model/queries/steps.ts'
import { HELD_AT, PARKED_AT, type StoredEvent } from '../../model/rows.ts'

export const WAIT_KINDS = [
  'scheduled',
  'retry',
  'activation',
  'paused',
  'queue',
  'start',
  'completion',
  'gate',
  'ended',
  'child',
] as const
export type WaitKind = (typeof WAIT_KINDS)[number]

export interface Segment {
  /** From 1; a redrive begins again at 1. */
  readonly attempt: number
  /** null: it runs. */
  readonly waits: WaitKind | null
  readonly from: number
  /** null: it has not ended. */
  readonly to: number | null
  /** The worker that holds it. */
  readonly worker: string | null
  /** Code of the failure with which it ended. */
  readonly error: string | null
}

type Line = Pick<
  StepRun,
  'status' | 'createdAt' | 'runAt' | 'finishedAt' | 'leasedAt' | 'leasedBy' | 'startedAt' | 'attempt' | 'deferred'
>

/** When its tree was paused; `to` null: it still is. */
export interface Pause {
  readonly from: number
  readonly to: number | null
}

/** `events`: of this run, oldest first; some in the middle may be missing. */
export function segmentsOf(
  run: Line,
  events: readonly StoredEvent[],
  now: number,
  pauses: readonly Pause[] = [],
): readonly Segment[] {
  const fold = new Fold(run)
  for (const event of events) fold.add(event.type, event.at, dataOf(event))
  const segments = fold.end(now)
  return pauses.length === 0 ? segments : segments.flatMap((segment) => withPauses(segment, pauses))
}

/** Waits that a pause prolongs: no worker holds the run. */
const PAUSABLE: ReadonlySet<WaitKind | null> = new Set(['scheduled', 'retry', 'activation', 'queue', 'paused'])

/** The parts of a wait inside of a pause are `paused`, the others are not. */
function withPauses(segment: Segment, pauses: readonly Pause[]): readonly Segment[] {
  const end = segment.to ?? Number.POSITIVE_INFINITY
  const within = pauses.filter(({ from, to }) => from < end && (to ?? end) > segment.from)
  if (within.length === 0 || !PAUSABLE.has(segment.waits)) return [segment]
  const outside = segment.waits === 'paused' ? 'queue' : segment.waits
  const parts: Segment[] = []
  let at = segment.from
  const add = (waits: WaitKind | null, to: number | null): void => {
    if (to !== null && to <= at) return
    parts.push({ ...segment, waits, from: at, to, error: null })
    at = to ?? at
  }
  for (const pause of within) {
    add(outside, Math.min(pause.from, end))
    add('paused', pause.to === null || pause.to >= end ? segment.to : pause.to)
  }
  if (parts.at(-1)?.to !== segment.to) add(outside, segment.to)
  const last = parts.pop() as Segment
  return [...parts, { ...last, error: segment.error }]
}

/** The worker that held the run at each event of its execution, by the id of the event. */
export function workersOf(events: readonly StoredEvent[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  let holder: string | null = null
  for (const event of events) {
    const data = dataOf(event)
    const named = data.leased_by ?? data.worker_id
    if (typeof named === 'string') holder = unscopedName(named)
    if (holder !== null) found.set(event.id, holder)
    if (RELEASES.has(event.type)) holder = null
  }
  return found
}

/** The worker of the last execution; null: there was none, or the history no longer names it. */
export function lastWorker(run: Pick<StepRun, 'leasedBy'>, events: readonly StoredEvent[]): string | null {
  return unscopedName(run.leasedBy) ?? [...workersOf(events).values()].at(-1) ?? null
}

/** Events after which no worker holds the run. */
const RELEASES: ReadonlySet<string> = new Set([
  'succeeded',
  'failed',
  'cancelled',
  'retried',
  'returned',
  'deferred',
  'redriven',
])

function dataOf({ data }: StoredEvent): StoredData {
  if (data === null) return {}
  try {
    const value = JSON.parse(data) as StoredData | null
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

interface Lease {
  readonly worker: string | null
  readonly startedAt: number | null
}

class Fold {
  readonly #run: Line
  readonly #segments: Segment[] = []
  /** Everything before it is covered. */
  #at: number
  #attempt = 1
  /** While pending: why it is not due, and until when. */
  #due: { readonly waits: WaitKind; readonly until: number }
  #lease: Lease | null = null
  #deferred = false
  /** It has ended, and has not been redriven. */
  #over = false

  constructor(run: Line) {
    this.#run = run
    this.#at = run.createdAt
    this.#due = { waits: 'scheduled', until: run.createdAt }
  }

  add(type: string, at: number, data: StoredData): void {
    switch (type) {
      case 'created':
        if (timeOf(data.run_at) !== null) this.#wait('scheduled', timeOf(data.run_at) as number)
        return this.#leaseIn(data, at)
      case 'leased':
        return this.#take(at, data)
      case 'started':
        this.#leaseIn(data, at)
        if (this.#lease === null) this.#take(at, data)
        this.#lease = { worker: this.#lease?.worker ?? workerIn(data), startedAt: at }
        return
      case 'run.activated':
        if (this.#isPending()) this.#pendingUntil(at)
        this.#due = { waits: 'queue', until: at }
        return
      case 'deferred':
        this.#release(at, data, true)
        this.#deferred = true
        return
      case 'retried':
        this.#release(at, data, true)
        this.#next(data)
        return this.#wait('retry', timeOf(data.run_at) ?? at)
      case 'returned':
        this.#release(at, data, data.run_at != null || data.attempt != null)
        this.#next(data)
        return this.#wait('scheduled', timeOf(data.run_at) ?? at)
      case 'succeeded':
      case 'failed':
      case 'cancelled':
        if (this.#over) return this.#push('ended', at, null)
        this.#release(at, data, type !== 'cancelled')
        this.#over = true
        return
      case 'redriven':
        this.#push(data.because === 'approved' ? 'gate' : 'ended', at, null)
        this.#over = false
        this.#attempt = 1
        return this.#wait('queue', at)
      default:
        return
    }
  }

  end(now: number): readonly Segment[] {
    const { status, finishedAt } = this.#run
    const over = status !== 'pending' && status !== 'leased'
    if (over) {
      // Its last events are missing, or a client has ended it and the engine has not processed that yet.
      if (!this.#over && finishedAt !== null) this.#release(finishedAt, {}, status !== 'cancelled')
      const end = finishedAt ?? this.#at
      return fitted(this.#segments, this.#run.createdAt, end)
    }
    if (status === 'leased') this.#open()
    else this.#openPending(now)
    return fitted(this.#segments, this.#run.createdAt, null)
  }

  #isPending(): boolean {
    return this.#lease === null && !this.#deferred && !this.#over
  }

  #wait(waits: WaitKind, until: number): void {
    this.#due = { waits: until >= PARKED_AT ? 'paused' : until >= HELD_AT ? 'activation' : waits, until }
  }

  /** The attempt that follows; data have the number of failures so far. */
  #next({ attempt }: StoredData): void {
    if (typeof attempt === 'number') this.#attempt = attempt + 1
  }

  #leaseIn(data: StoredData, at: number): void {
    const leasedAt = timeOf(data.leased_at)
    if (leasedAt !== null) this.#take(Math.min(Math.max(leasedAt, this.#at), Math.max(at, this.#at)), data)
  }

  #take(at: number, data: StoredData): void {
    if (this.#isPending()) this.#pendingUntil(at)
    this.#lease = { worker: workerIn(data), startedAt: null }
  }

  #pendingUntil(at: number): void {
    const { waits, until } = this.#due
    if (until > this.#at) this.#push(waits, Math.min(until, at), null)
    this.#push('queue', at, null)
  }

  /** The lease ends, or the wait for a completion, or a wait without an execution. `worked`: without a start it counts as one. */
  #release(at: number, data: StoredData, worked: boolean): void {
    this.#leaseIn(data, at)
    const error = (data.error as { readonly code?: unknown } | undefined)?.code
    const code = typeof error === 'string' ? error : null
    if (this.#deferred) this.#push('completion', at, null, code)
    else if (this.#lease === null) {
      this.#pendingUntil(at)
      if (code !== null) this.#mark(code)
    } else {
      const { worker, startedAt } = this.#lease
      const began = timeOf(data.started_at) ?? startedAt ?? (worked ? this.#at : null)
      if (began === null) this.#push('start', at, worker, code)
      else {
        this.#push('start', Math.min(Math.max(began, this.#at), at), worker)
        this.#push(null, at, worker, code)
      }
    }
    this.#lease = null
    this.#deferred = false
  }

  #mark(error: string): void {
    const last = this.#segments.at(-1)
    if (last !== undefined) this.#segments[this.#segments.length - 1] = { ...last, error }
  }

  /** Held now: what no event has recorded yet is in the row. */
  #open(): void {
    const { leasedAt, leasedBy, startedAt, deferred } = this.#run
    if (deferred) {
      if (!this.#deferred) this.#release(startedAt ?? this.#at, {}, true)
      return this.#push('completion', null, null)
    }
    if (this.#lease === null) this.#take(Math.max(leasedAt ?? this.#at, this.#at), {})
    const worker = unscopedName(leasedBy) ?? this.#lease?.worker ?? null
    const began = this.#lease?.startedAt ?? startedAt
    if (began === null) return this.#push('start', null, worker)
    this.#push('start', Math.max(began, this.#at), worker)
    this.#push(null, null, worker)
  }

  /** The row has the time until which it waits: an operator may have changed it. */
  #openPending(now: number): void {
    const { runAt, attempt } = this.#run
    this.#attempt = Math.max(this.#attempt, attempt + 1)
    const { waits } = this.#due
    this.#wait(
      waits === 'queue' || waits === 'activation' || waits === 'paused' ? (attempt > 0 ? 'retry' : 'scheduled') : waits,
      runAt,
    )
    if (runAt > now) return this.#push(this.#due.waits, null, null)
    if (runAt > this.#at) this.#push(this.#due.waits, runAt, null)
    this.#push('queue', null, null)
  }

  #push(waits: WaitKind | null, to: number | null, worker: string | null, error: string | null = null): void {
    const from = this.#at
    if (to !== null) this.#at = Math.max(this.#at, to)
    this.#segments.push({ attempt: this.#attempt, waits, from, to: to === null ? null : this.#at, worker, error })
  }
}

/** Without empty segments, within the life of the run; the last error is kept although its segment took no time. */
function fitted(segments: readonly Segment[], from: number, to: number | null): readonly Segment[] {
  const found: Segment[] = []
  let at = from
  for (const segment of segments) {
    const end = segment.to === null ? to : to === null ? segment.to : Math.min(segment.to, to)
    if (end !== null && end <= at) {
      const last = found.at(-1)
      if (segment.error !== null && last !== undefined) found[found.length - 1] = { ...last, error: segment.error }
      continue
    }
    found.push({ ...segment, from: at, to: end })
    if (end === null) break
    at = end
  }
  const last = found.at(-1)
  if (to !== null && last !== undefined && at < to) found[found.length - 1] = { ...last, to }
  if (to !== null && last === undefined && at < to) {
    found.push({ attempt: 1, waits: 'queue', from, to, worker: null, error: null })
  }
  return found
}

function workerIn(data: StoredData): string | null {
  const named = data.leased_by ?? data.worker_id
  return typeof named === 'string' ? unscopedName(named) : null
}

function timeOf(value: unknown): number | null {
  if (typeof value !== 'string') return null
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : at
}
