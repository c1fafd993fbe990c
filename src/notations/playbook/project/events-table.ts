/** The event log as a table: time, event, place, and details. By time: the log itself has a step's beginning together with its end. */
import { brief, span } from '../../../views/words.ts'
import type { Table, Text } from '../../interface/sheet.ts'
import type { ExecutionEvent } from './envelope.ts'

export function eventsTable(log: readonly ExecutionEvent[], since: number): Table {
  const events = log.map((event) => ({ ...event, at: Date.parse(event.timestamp) - since })).sort((a, b) => a.at - b.at)
  return {
    columns: [
      { title: 'AT', align: 'right' },
      { title: 'EVENT' },
      { title: 'OF' },
      { title: 'TRY', align: 'right' },
      { title: 'SAYS' },
    ],
    rows: events.map((event) => [
      `+${span(Math.max(0, event.at))}`,
      wordOf(event),
      placeOf(event),
      event.attempt !== null && event.attempt > 1 ? String(event.attempt) : '',
      brief(contentOf(event), 100),
    ]),
  }
}

function wordOf({ event_type: type, status }: ExecutionEvent): Text {
  if (status === 'success') return type
  return { text: type, as: status === 'error' ? 'wrong' : 'faint' }
}

function placeOf({ step, iteration, entity_type: entity, entity_id: id }: ExecutionEvent): string {
  if (step === null) return ''
  const item = iteration === null ? step : `${step}[${iteration}]`
  return entity === 'task' ? `${item} ${id.slice(step.length + 1)}` : item
}

/** The payload in a few words. */
function contentOf({ event_type: type, payload }: ExecutionEvent): string {
  const { error } = payload as {
    readonly error?: { readonly kind?: string; readonly code?: string; readonly message?: string }
  }
  if (error !== undefined && error !== null) return `${error.kind ?? error.code}: ${error.message ?? ''}`
  if (type === 'next.evaluated') {
    const steps = payload['steps'] as readonly string[]
    return steps.length === 0 ? 'no arc matched' : `→ ${steps.join(', ')}`
  }
  if (type === 'policy.task.evaluated') {
    const { do: verb, to, delay_s: delay } = payload
    return `${verb}${to === undefined ? '' : ` ${to}`}${delay === undefined ? '' : ` in ${delay} s`}`
  }
  if (type === 'policy.admit.evaluated')
    return payload['allow'] === true ? 'let in' : String(payload['token'] ?? 'kept out')
  if (type === 'loop.started') return `${payload['total']} items, ${payload['max_in_flight'] ?? 'all'} at a time`
  const { stats } = payload as {
    readonly stats?: { readonly total: number; readonly success: number; readonly failed: number }
  }
  if (stats !== undefined) return `${stats.success} of ${stats.total} done, ${stats.failed} failed`
  const { status, kind, duration_ms: ms, worker, actor } = payload
  return [
    status,
    kind,
    ms === undefined ? undefined : span(Number(ms)),
    worker,
    actor === undefined ? undefined : `by ${actor}`,
  ]
    .filter((part) => part !== undefined && part !== null)
    .join(', ')
}
