/** The executions of a run, from its history. Most events of a lease also record how it began. */

export interface RunEvent {
  readonly type: string
  readonly at: string
  readonly data: unknown
}

export interface Execution {
  readonly worker: string | null
  readonly leasedAt: string | null
  readonly startedAt: string | null
  /** null: a worker holds it. */
  readonly endedAt: string | null
  /** The event that ended it; null: a worker holds it. */
  readonly end: string | null
  readonly error: string | null
}

/** What a run says about the lease that has not ended. */
interface Held {
  readonly status: string
  readonly leased_by: string | null
  readonly started_at: string | null
}

const ENDS: ReadonlySet<string> = new Set(['succeeded', 'failed', 'retried', 'returned', 'cancelled', 'deferred'])

interface Begun {
  readonly worker: string | null
  readonly leasedAt: string | null
  readonly startedAt: string | null
}

const NOTHING: Begun = { worker: null, leasedAt: null, startedAt: null }

/** Oldest first. */
export function executionsOf(events: readonly RunEvent[], run: Held): readonly Execution[] {
  const executions: Execution[] = []
  let begun: Begun | null = null
  for (const { type, at, data } of events) {
    const found = beginningIn(type, at, data)
    if (found !== null) begun = merged(begun, found)
    if (!ENDS.has(type)) continue
    if (begun !== null) executions.push({ ...begun, endedAt: at, end: type, error: errorIn(data) })
    begun = null
  }
  if (run.status !== 'leased') return executions
  const held = merged(begun, { worker: run.leased_by, leasedAt: null, startedAt: run.started_at })
  return [...executions, { ...held, endedAt: null, end: null, error: null }]
}

/** What an event says about the beginning of a lease; null: nothing. */
function beginningIn(type: string, at: string, data: unknown): Begun | null {
  const facts = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>
  const word = (name: string): string | null => (typeof facts[name] === 'string' ? (facts[name] as string) : null)
  const worker = word('leased_by') ?? word('worker_id')
  if (type === 'leased') return { worker, leasedAt: at, startedAt: null }
  if (type === 'started') return { worker, leasedAt: word('leased_at'), startedAt: at }
  if (worker === null && word('leased_at') === null) return null
  return { worker, leasedAt: word('leased_at'), startedAt: word('started_at') }
}

function merged(known: Begun | null, next: Begun): Begun {
  const before = known ?? NOTHING
  return {
    worker: next.worker ?? before.worker,
    leasedAt: next.leasedAt ?? before.leasedAt,
    startedAt: next.startedAt ?? before.startedAt,
  }
}

function errorIn(data: unknown): string | null {
  const error = (data as { readonly error?: { readonly code?: unknown; readonly message?: unknown } } | null)?.error
  if (error === undefined || error === null) return null
  const parts = [error.code, error.message].filter((part): part is string => typeof part === 'string' && part !== '')
  return parts.length === 0 ? null : parts.join(': ')
}
