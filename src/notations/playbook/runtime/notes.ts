/**
 * The notes about a pipeline: one per try of a task, from which its history is made. A pipeline may try tasks a million
 * times, and an event must stay small: for one execution the first and the last notes are kept, and the number of those
 * left out between.
 */
import type { Json } from '../../../net/net.ts'
import type { ToolError } from '../../../tools/tool.ts'
import type { Verdict } from './machine.ts'
import type { Fields } from './state.ts'

export interface TryNote {
  readonly task: string
  readonly kind: string
  readonly visit: number
  readonly attempt: number
  /** When it began, in ms since 1970. */
  readonly at: number
  readonly ms: number
  readonly status: 'ok' | 'error'
  readonly error: ToolError | null
  readonly http: { readonly status: number } | undefined
  readonly verdict: Verdict | null
  readonly hasRules: boolean
  /** Until the next try; null: there is none. */
  readonly restMs: number | null
}

const MOST_AT_EITHER_END = 100
/** Of 64 KiB in all. */
const BYTES_AT_EITHER_END = 28 * 1024
const LONGEST_MESSAGE = 500

export class Notes {
  readonly #first: Json[] = []
  #firstBytes = 0
  #firstIsFull = false
  /** The last notes, and temporarily some before them. */
  #last: Json[] = []
  #omitted = 0

  add(note: Fields): void {
    if (!this.#firstIsFull) {
      const bytes = sizeOf(note)
      this.#firstIsFull = this.#first.length >= MOST_AT_EITHER_END || this.#firstBytes + bytes > BYTES_AT_EITHER_END
      if (!this.#firstIsFull) {
        this.#firstBytes += bytes
        this.#first.push(note)
        return
      }
    }
    this.#last.push(note)
    // Trimmed in portions: shifting an array for every note is slow.
    if (this.#last.length >= 4 * MOST_AT_EITHER_END) this.#trim(MOST_AT_EITHER_END)
  }

  /** In order; the number of the notes left out is in their place. */
  all(): readonly Json[] {
    this.#trim(MOST_AT_EITHER_END)
    while (this.#last.length > 1 && sizeOf(this.#last) > BYTES_AT_EITHER_END) this.#trim(this.#last.length - 1)
    const gap = this.#omitted === 0 ? [] : [{ event: 'notes.omitted', count: this.#omitted }]
    return [...this.#first, ...gap, ...this.#last]
  }

  #trim(most: number): void {
    const surplus = this.#last.length - most
    if (surplus <= 0) return
    this.#omitted += surplus
    this.#last = this.#last.slice(surplus)
  }
}

export function tryNote(note: TryNote): Fields {
  const { task, kind, visit, attempt, at, ms, status, error, http, verdict, hasRules, restMs } = note
  return {
    task,
    kind,
    visit,
    attempt,
    at,
    ms,
    status,
    ...(error !== null && { error: errorNote(error) }),
    ...(hasRules && verdict !== null && { rule: ruleNote(verdict, restMs) }),
    ...(http !== undefined && { http: { status: http.status } }),
    last: restMs === null,
  }
}

function errorNote({ kind, code, message, retryable }: ToolError): Fields {
  return { kind, code, message: message.slice(0, LONGEST_MESSAGE), retryable }
}

function ruleNote({ rule, do: action, to }: Verdict, restMs: number | null): Fields {
  return {
    index: rule,
    do: action,
    ...(to !== undefined && { to }),
    ...(restMs !== null && { delay_s: restMs / 1000 }),
  }
}

function sizeOf(note: Json): number {
  return Buffer.byteLength(JSON.stringify(note)) + 1
}
