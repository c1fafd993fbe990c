/** What people have done, and programs under their names: events that record an actor. */
import type { EventType } from '../events/events.ts'
import type { StoredEvent } from '../rows.ts'

/** Types of events that starts and workers write, as many as there is work. They are in no list of what people have done. */
export const ORDINARY: readonly EventType[] = [
  'created',
  'leased',
  'started',
  'heartbeat',
  'succeeded',
  'failed',
  'retried',
  'returned',
  'late_success',
  'deferred',
  'progress',
  'instance.created',
  'instance.queued',
  'workflow.triggered',
]

/** Events of all tenants among which one page finds those of a tenant. */
export const MAX_AUDITED = 10_000

export interface AuditQuery {
  readonly actor: string | null
  /** null: of all tenants and of none. */
  readonly tenant: string | null
  /** Only events with smaller ids. */
  readonly before: number | null
  readonly limit: number
}

export interface AuditPage {
  /** Newest first. */
  readonly rows: readonly StoredEvent[]
  /** `before` of the next page; null: this is the last one. */
  readonly next: number | null
}

/** `looked`: the last of the events among which those of a tenant were found, and how many they were. */
export function auditPage(
  found: { readonly rows: readonly StoredEvent[]; readonly full: boolean },
  looked: { readonly last: number | null; readonly count: number },
): AuditPage {
  const { rows, full } = found
  if (full) return { rows, next: rows.at(-1)?.id ?? null }
  return { rows, next: looked.count >= MAX_AUDITED ? looked.last : null }
}
