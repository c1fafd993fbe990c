/** Debounced starts: a start waits, and each further one under its key replaces it, until none has followed for a while. */
import type { Json } from '../../net/net.ts'
import { int, json, type RowOf, table, text, time, uuid } from '../table.ts'

export const DEBOUNCE = table('workflow_debounce', {
  /** debounceKey(). */
  key: text(),
  /** The instance that will be started. */
  instanceId: uuid(),
  /** The definition, and its version; null: the latest when it starts. */
  name: text(),
  version: text().orNull(),
  tenant: text().orNull(),
  /** { input, meta?, tags? } of the last start. */
  start: json(),
  /** Who requested it last. */
  actor: text().orNull(),
  /** Starts that it has replaced. */
  replaced: int().initially(0),
  firstAt: time(),
  dueAt: time(),
})
export type DebounceRow = RowOf<typeof DEBOUNCE>

export interface DebounceParams {
  /** Unique within the tenant and the workflow. */
  readonly key: string
  /** It starts when no other start has followed for this long. */
  readonly delayMs: number
  /** It starts this long after the first one at the latest; null: there is no such limit. */
  readonly maxMs: number | null
}

/** What is kept of a start until it is due. */
export interface KeptStart {
  readonly input: Json
  readonly meta?: Json
  readonly tags?: readonly string[]
}

/** Lists make it unambiguous, whatever characters the parts contain. */
export function debounceKey(tenant: string | null, workflow: string, key: string): string {
  return JSON.stringify([tenant, workflow, key])
}
