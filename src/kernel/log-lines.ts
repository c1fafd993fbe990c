/** The lines that executions log: what the worker writes, the stores keep and clients read. */
import type { Json } from '../net/net.ts'
import { unstorable } from './json-limits.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const LOG_STREAMS = ['stdout', 'stderr'] as const
export type LogStream = (typeof LOG_STREAMS)[number]

/** As it is stored. The names are short, since there are many lines. */
export interface LogLine {
  /** When it was written, in milliseconds on the clock of the worker. */
  readonly t: number
  readonly l: LogLevel
  /** Text that a task printed; left out: a line of the handler. */
  readonly s?: LogStream
  readonly m: string
  /** Fields. */
  readonly f?: Json
}

/** Most characters of a text, and most bytes of fields as JSON. */
export const LINE_CHARACTERS = 8 * 1024
export const FIELD_BYTES = 4 * 1024
/** Most bytes and lines of one part, in which lines are written. */
export const PART_BYTES = 32 * 1024
export const PART_LINES = 500

export interface LineGiven {
  readonly at: number
  readonly level: LogLevel
  readonly stream?: LogStream | null
  readonly text: string
  readonly fields?: unknown
}

/** Never throws: a line is not worth a failed run. What is too long is cut, and what cannot be stored is left out. */
export function logLine({ at, level, stream, text, fields }: LineGiven): LogLine {
  const cut = text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS)}…` : text
  return {
    t: at,
    l: level,
    ...(stream == null ? {} : { s: stream }),
    m: cut.replaceAll('\0', '\uFFFD').toWellFormed(),
    ...(fields === undefined || fields === null ? {} : { f: fieldsOf(fields) }),
  }
}

function fieldsOf(fields: unknown): Json {
  try {
    const plain = fields instanceof Error ? { name: fields.name, message: fields.message } : fields
    const text = JSON.stringify(plain) ?? 'null'
    if (unstorable(text, FIELD_BYTES) === null) return JSON.parse(text) as Json
    return { $omitted: { bytes: Buffer.byteLength(text) } }
  } catch (error) {
    return { $omitted: { why: (error as Error).message.slice(0, 200) } }
  }
}

export function bytesOf(line: LogLine): number {
  return Buffer.byteLength(JSON.stringify(line)) + 1
}
