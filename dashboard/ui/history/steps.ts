/** The steps of an instance as far as its events show them. */
import { membersOf } from '../json/json-members.ts'
import type { HistoryEvent } from './events.ts'

export interface PastStep {
  readonly name: string
  readonly state: 'pending' | 'running' | 'completed' | 'failed' | 'skipped'
  /** Runs that were created: more than one of a list, or of a step that began several times. */
  readonly runs: number
  /** Executions that failed. */
  readonly failures: number
  readonly startedAt: string | null
  readonly endedAt: string | null
  /** The last one. */
  readonly error: string | null
  readonly who: string | null
}

interface Seen {
  runs: Set<string>
  open: number
  failures: number
  failed: boolean
  begun: boolean
  skipped: boolean
  startedAt: string | null
  endedAt: string | null
  error: string | null
  who: string | null
}

const BEGINS: ReadonlySet<string> = new Set(['created', 'gate.opened', 'each.opened', 'redriven'])
const STARTS: ReadonlySet<string> = new Set([
  'leased',
  'started',
  'succeeded',
  'failed',
  'retried',
  'gate.opened',
  'each.opened',
])
const SUCCEEDS: ReadonlySet<string> = new Set([
  'succeeded',
  'gate.approved',
  'node.completed',
  'node.fired',
  'each.closed',
])
const FAILS: ReadonlySet<string> = new Set(['failed', 'gate.rejected', 'node.failed', 'cancelled', 'gate.closed'])

/** In the order in which they are first mentioned. */
export function pastSteps(events: readonly HistoryEvent[]): readonly PastStep[] {
  const steps = new Map<string, Seen>()
  for (const event of events.toSorted((a, b) => a.seq - b.seq)) {
    if (event.node === null) continue
    let seen = steps.get(event.node)
    if (seen === undefined) {
      seen = nothingSeen()
      steps.set(event.node, seen)
    }
    take(seen, event)
  }
  return [...steps].map(([name, seen]) => ({
    name,
    state: stateOf(seen),
    runs: seen.runs.size,
    failures: seen.failures,
    startedAt: seen.startedAt,
    endedAt: seen.open > 0 ? null : seen.endedAt,
    error: seen.error,
    who: seen.who,
  }))
}

function nothingSeen(): Seen {
  return {
    runs: new Set(),
    open: 0,
    failures: 0,
    failed: false,
    begun: false,
    skipped: false,
    startedAt: null,
    endedAt: null,
    error: null,
    who: null,
  }
}

function take(seen: Seen, { type, at, run, who, data }: HistoryEvent): void {
  if (run !== null) seen.runs.add(run)
  if (BEGINS.has(type)) seen.open += 1
  if (STARTS.has(type)) {
    seen.begun = true
    seen.startedAt ??= beginningIn(data) ?? at
  }
  if (SUCCEEDS.has(type) || FAILS.has(type)) {
    seen.open = Math.max(0, seen.open - 1)
    seen.begun = true
    seen.endedAt = at
    seen.who = who ?? seen.who
    if (SUCCEEDS.has(type)) seen.failed = false
  }
  if (FAILS.has(type)) seen.failed = true
  if (type === 'node.skipped') seen.skipped = true
  if (type === 'failed' || type === 'retried') {
    seen.failures += 1
    seen.error = errorIn(data) ?? seen.error
  }
}

function stateOf({ begun, open, failed, skipped }: Seen): PastStep['state'] {
  if (skipped) return 'skipped'
  if (failed) return 'failed'
  if (!begun) return 'pending'
  return open > 0 ? 'running' : 'completed'
}

/** The event that ends a lease also records how it began. */
function beginningIn(data: string | null): string | null {
  const parts = membersOf(data ?? '{}')
  const at: unknown = JSON.parse(parts.get('started_at') ?? parts.get('leased_at') ?? 'null')
  return typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? at : null
}

function errorIn(data: string | null): string | null {
  const error = membersOf(data ?? '{}').get('error')
  if (error === undefined) return null
  const message: unknown = JSON.parse(membersOf(error).get('message') ?? 'null')
  return typeof message === 'string' ? message : null
}
