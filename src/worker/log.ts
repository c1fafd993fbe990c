/**
 * What an execution logs. Lines are collected, and written twice a second for all executions of a worker together, and before
 * the outcome of the execution is reported: a handler that logs nothing costs nothing. Of what is not yet written, an
 * execution keeps its first and its newest lines; one that has written much is written every five seconds only.
 */
import {
  bytesOf,
  type LogLevel,
  type LogLine,
  type LogStream,
  logLine,
  PART_BYTES,
  PART_LINES,
} from '../kernel/log-lines.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Delivery, LogPart, Session } from './port.ts'

/** `fields`: any JSON, shown beside the text. Never throws. */
export interface Log {
  debug(text: string, fields?: unknown): void
  info(text: string, fields?: unknown): void
  warn(text: string, fields?: unknown): void
  error(text: string, fields?: unknown): void
  /** A line that a program has printed. */
  print(stream: LogStream, text: string): void
}

/** Kept in memory of one execution, besides its first lines. */
const PENDING_BYTES = 64 * 1024
/** An execution that has written more than this is written less often. */
const MUCH_BYTES = 256 * 1024
const INTERVAL_MS = 500
const LONG_INTERVAL_MS = 5_000
/** The outcome of an execution does not wait longer for its last lines. */
const LAST_LINES_MS = 2_000

interface Numbered {
  readonly number: number
  readonly line: LogLine
  readonly bytes: number
}

export class ExecutionLog implements Log {
  readonly delivery: Delivery
  readonly #changed: (log: ExecutionLog) => void
  #lines: Numbered[] = []
  #bytes = 0
  #next = 0
  /** Of all lines so far. */
  #seenBytes = 0
  /** Pending lines that are the first of the execution, and are kept. */
  #head = 0
  #writtenBytes = 0
  #writtenAt = 0
  over = false

  constructor(delivery: Delivery, changed: (log: ExecutionLog) => void) {
    this.delivery = delivery
    this.#changed = changed
  }

  debug(text: string, fields?: unknown): void {
    this.#add('debug', null, text, fields)
  }
  info(text: string, fields?: unknown): void {
    this.#add('info', null, text, fields)
  }
  warn(text: string, fields?: unknown): void {
    this.#add('warn', null, text, fields)
  }
  error(text: string, fields?: unknown): void {
    this.#add('error', null, text, fields)
  }
  print(stream: LogStream, text: string): void {
    this.#add(stream === 'stderr' ? 'warn' : 'info', stream, text, undefined)
  }

  get isPending(): boolean {
    return this.#lines.length > 0
  }

  isDue(now: number): boolean {
    return this.isPending && (this.#writtenBytes < MUCH_BYTES || now - this.#writtenAt >= LONG_INTERVAL_MS)
  }

  /** Takes what is pending. Lines whose numbers do not follow one another are in different parts. */
  take(now: number): readonly LogPart[] {
    const { runId, epoch } = this.delivery
    const parts: { runId: string; epoch: number; first: number; lines: LogLine[] }[] = []
    let bytes = 0
    let expected = -1
    for (const { number, line, bytes: own } of this.#lines) {
      const last = parts.at(-1)
      const follows = last !== undefined && number === expected
      if (follows && bytes + own <= PART_BYTES && last.lines.length < PART_LINES) {
        last.lines.push(line)
        bytes += own
      } else {
        parts.push({ runId, epoch, first: number, lines: [line] })
        bytes = own
      }
      expected = number + 1
    }
    this.#writtenBytes += this.#bytes
    this.#writtenAt = now
    this.#lines = []
    this.#bytes = 0
    this.#head = 0
    return parts
  }

  #add(level: LogLevel, stream: LogStream | null, text: string, fields: unknown): void {
    if (this.over) return
    const line = logLine({ at: Date.now(), level, stream, text: String(text), fields })
    const bytes = bytesOf(line)
    this.#lines.push({ number: this.#next++, line, bytes })
    this.#bytes += bytes
    this.#seenBytes += bytes
    if (this.#seenBytes <= PART_BYTES) this.#head = this.#lines.length
    if (this.#bytes > 2 * PENDING_BYTES) this.#drop()
    if (this.#lines.length === 1) this.#changed(this)
  }

  /** Rarely enough that a flood is not copied line by line. */
  #drop(): void {
    let end = this.#head
    while (this.#bytes > PENDING_BYTES && end < this.#lines.length - 1)
      this.#bytes -= (this.#lines[end++] as Numbered).bytes
    this.#lines.splice(this.#head, end - this.#head)
  }
}

/** Writes the logs of all executions of a worker. */
export class LogWriter {
  readonly #session: () => Session
  readonly #logger: Logger
  readonly #changed = new Set<ExecutionLog>()
  /** Runs whose last lines are being written: they are still held. */
  readonly ending = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()

  constructor({ session, logger }: { readonly session: () => Session; readonly logger: Logger }) {
    this.#session = session
    this.#logger = logger
  }

  of(delivery: Delivery): ExecutionLog {
    return new ExecutionLog(delivery, (log) => this.#noted(log))
  }

  /** null: nothing is pending. Resolves when the last lines are written, or cannot be for too long. */
  end(log: ExecutionLog): Promise<void> | null {
    log.over = true
    this.#changed.delete(log)
    if (!log.isPending) return null
    const { runId } = log.delivery
    this.ending.add(runId)
    const late = new Promise<void>((resolve) => setTimeout(resolve, LAST_LINES_MS).unref())
    return Promise.race([this.#write([log]), late]).finally(() => this.ending.delete(runId))
  }

  #noted(log: ExecutionLog): void {
    this.#changed.add(log)
    this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS).unref()
  }

  #flush(): void {
    this.#timer = null
    const now = Date.now()
    const due = [...this.#changed].filter((log) => log.isDue(now))
    for (const log of due) this.#changed.delete(log)
    if (this.#changed.size > 0) this.#timer = setTimeout(() => this.#flush(), INTERVAL_MS).unref()
    if (due.length > 0) void this.#write(due)
  }

  /** One write at a time, so that the parts of an execution are in order. */
  #write(logs: readonly ExecutionLog[]): Promise<void> {
    const now = Date.now()
    const parts = logs.flatMap((log) => log.take(now))
    this.#writing = this.#writing.then(async () => {
      try {
        await this.#session().log(parts)
      } catch (error) {
        this.#logger.warn({ err: error, runs: logs.length }, 'lines of the log could not be stored')
      }
    })
    return this.#writing
  }
}
