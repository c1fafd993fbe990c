/** Headers for a queue that is nearly full, or full. */
import type { QueuePressure } from '../operations/queues/bounds.ts'

const RETRY_SECONDS = 1

/** null: no queue is under pressure. */
export function pressureHeaders(pressure: QueuePressure | null): Readonly<Record<string, string>> {
  if (pressure === null) return {}
  return headers(pressure, pressure.depth / pressure.bound)
}

/** For an answer that refuses a run. */
export function fullHeaders(details: { readonly [name: string]: unknown }): Readonly<Record<string, string>> {
  const { depth, bound } = details as unknown as QueuePressure
  return { 'retry-after': String(RETRY_SECONDS), ...headers({ depth, bound }, 1) }
}

function headers({ depth, bound }: QueuePressure, pressure: number): Readonly<Record<string, string>> {
  return {
    'x-ojs-queue-depth': String(depth),
    'x-ojs-queue-bound': String(bound),
    'x-ojs-queue-pressure': String(Math.round(pressure * 1000) / 1000),
  }
}
