/**
 * A history as a file: what the page of an instance downloads, and what is opened later without a server. A file comes from
 * anywhere, so every part of it is checked, and nothing of it is more than text.
 */
import { elementsOf, membersOf } from '../json/json-members.ts'
import { eventIn, type HistoryEvent } from './events.ts'

export const HISTORY_FORMAT = 'petrel.history.v1'
/** Longer files are refused: the window would stand still. */
export const MOST_BYTES = 200 * 1024 * 1024

const DATA = ['input', 'context', 'results', 'meta'] as const
const ABOUT = ['instance', 'initiator', 'tags', 'error', 'undo_error', ...DATA] as const

/** `view`: the answer for the instance. `events`: each as the server wrote it. */
export function historyText(view: string, events: readonly string[], exportedAt: string): string {
  const members = membersOf(view)
  const about = ABOUT.map((name) => `${JSON.stringify(name)}:${members.get(name) ?? 'null'}`)
  const head = `"format":${JSON.stringify(HISTORY_FORMAT)},"exported_at":${JSON.stringify(exportedAt)}`
  return `{${head},${about.join(',')},"events":[${events.join(',\n')}]}`
}

export interface HistoryFile {
  readonly name: string | null
  readonly id: string | null
  readonly state: string | null
  /** Words of the header with their values, in the order in which they are shown. */
  readonly facts: readonly (readonly [string, string])[]
  readonly error: string | null
  readonly events: readonly HistoryEvent[]
  /** Entries that are not events. */
  readonly unreadable: number
  /** As written; only what the file has. */
  readonly data: readonly (readonly [string, string])[]
}

/** Throws an Error that says what is wrong. */
export function readHistory(text: string): HistoryFile {
  const value = parsed(text)
  if (Array.isArray(value)) return fileOf(new Map(), elementsOf(text))
  if (typeof value !== 'object' || value === null)
    throw new Error(`The file has ${wordFor(value)} instead of a history.`)
  const members = membersOf(text)
  const format: unknown = JSON.parse(members.get('format') ?? 'null')
  if (typeof format === 'string' && format !== HISTORY_FORMAT) {
    throw new Error(`The file has the format '${format.slice(0, 80)}'; this page reads ${HISTORY_FORMAT}.`)
  }
  const events = members.get('events')
  if (events === undefined || !events.startsWith('[')) {
    throw new Error('The file has no list of events: it is not a history that was downloaded from an instance.')
  }
  return fileOf(members, elementsOf(events))
}

function parsed(text: string): unknown {
  if (text.trim() === '') throw new Error('The file is empty.')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The file is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

function wordFor(value: unknown): string {
  return value === null ? 'null' : `a ${typeof value}`
}

function fileOf(members: ReadonlyMap<string, string>, entries: readonly string[]): HistoryFile {
  const events = entries.flatMap((entry, at) => eventIn(entry, at + 1) ?? [])
  if (events.length === 0 && entries.length > 0) throw new Error('None of the entries of the file is an event.')
  const instance = membersOf(members.get('instance') ?? '{}')
  const word = (name: string): string | null => textOf(instance.get(name))
  const tags = elementsOf(members.get('tags') ?? '[]').flatMap((tag) => textOf(tag) ?? [])
  const initiator = textOf(members.get('initiator'))
  const exported = textOf(members.get('exported_at'))
  const facts = [
    ...FACTS.map((name) => [name.replaceAll('_', ' '), word(name)] as const),
    ['initiator', initiator] as const,
    ['tags', tags.length === 0 ? null : tags.join(', ')] as const,
    ['downloaded', exported] as const,
  ]
  return {
    name: word('name'),
    id: word('id'),
    state: word('state'),
    facts: facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    error: failureText(members.get('error')),
    events,
    unreadable: entries.length - events.length,
    data: DATA.flatMap((name) => {
      const part = members.get(name)
      return part === undefined || part === 'null' ? [] : [[name, part] as const]
    }),
  }
}

const FACTS = [
  'outcome',
  'dialect',
  'tenant',
  'start_key',
  'retry_of',
  'parent_id',
  'created_at',
  'started_at',
  'ended_at',
  'net',
] as const

/** null: it is not a text. */
function textOf(part: string | undefined): string | null {
  const value: unknown = JSON.parse(part ?? 'null')
  return typeof value === 'string' && value !== '' ? value : null
}

function failureText(part: string | undefined): string | null {
  if (part === undefined || part === 'null') return null
  const members = membersOf(part)
  const message = textOf(members.get('message'))
  if (message === null) return part
  const code = textOf(members.get('code'))
  return code === null ? message : `${code}: ${message}`
}
