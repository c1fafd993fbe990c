/** Events of a history: as they are read, and as they are filtered. */
import { membersOf } from '../json/json-members.ts'

export interface HistoryEvent {
  /** Its number in its instance; of a run, in its list. */
  readonly seq: number
  readonly type: string
  readonly at: string
  readonly node: string | null
  readonly run: string | null
  /** Who caused it: a person or a client, or the worker that held the run. */
  readonly who: string | null
  /** As written; null: none. */
  readonly data: string | null
}

/** `text`: an event as the server wrote it. null: it cannot be shown. `seq`: where the event itself has none. */
export function eventIn(text: string, seq = 0): HistoryEvent | null {
  const parts = membersOf(text)
  const word = (name: string): string | null => {
    const value: unknown = JSON.parse(parts.get(name) ?? 'null')
    return typeof value === 'string' ? value : null
  }
  const type = word('type')
  const at = word('at')
  if (type === null || at === null || Number.isNaN(Date.parse(at))) return null
  const number = Number(parts.get('seq') ?? Number.NaN)
  const data = parts.get('data') ?? 'null'
  return {
    seq: Number.isSafeInteger(number) && number > 0 ? number : seq,
    type,
    at,
    node: word('node'),
    run: word('run_id'),
    who: word('actor') ?? word('worker'),
    data: data === 'null' ? null : data,
  }
}

export interface EventFilter {
  readonly type: string
  readonly node: string
  readonly who: string
  /** Anywhere in the event, its data included. */
  readonly text: string
}

export const EVERYTHING: EventFilter = { type: '', node: '', who: '', text: '' }

export function filters({ type, node, who, text }: EventFilter): boolean {
  return `${type}${node}${who}${text}`.trim() !== ''
}

/** Parts of words count, capital or small. The step must be the whole name if it is in quotation marks. */
export function passes(event: HistoryEvent, { type, node, who, text }: EventFilter): boolean {
  return (
    has(event.type, type) &&
    (/^".*"$/s.test(node) ? event.node === node.slice(1, -1) : has(event.node, node)) &&
    has(event.who, who) &&
    (text === '' ||
      [event.type, event.node, event.who, event.run, event.data, event.at].some((part) => has(part, text)))
  )
}

function has(value: string | null, wanted: string): boolean {
  const trimmed = wanted.trim().toLowerCase()
  return trimmed === '' || (value?.toLowerCase().includes(trimmed) ?? false)
}
