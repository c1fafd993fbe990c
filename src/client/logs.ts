/** What executions have logged. */
import type { EngineApi } from '../engine/api.ts'
import type { LogLine } from '../kernel/log-lines.ts'
import type { LogPart, LogQuery } from '../model/logs.ts'
import type { Json } from '../net/net.ts'

export interface LogAsked {
  /** Only this execution, from 1. */
  readonly attempt?: number
  /** `next` of the page before. */
  readonly after?: number
}

export interface LogLines {
  readonly lines: readonly {
    readonly runId: string
    readonly node: string | null
    readonly attempt: number
    /** Counts the lines of the execution, from 0. A gap: lines that were not kept. */
    readonly number: number
    readonly at: Date
    readonly level: LogLine['l']
    /** Text that a task has printed; null: a line of the handler. */
    readonly stream: NonNullable<LogLine['s']> | null
    readonly text: string
    readonly fields: Json
  }[]
  readonly next: number
  readonly more: boolean
}

/** Parts of one page: about a megabyte. */
const PARTS = 32

export async function readLog(engine: EngineApi, of: LogQuery['of'], asked: LogAsked): Promise<LogLines> {
  const { attempt = null, after = 0 } = asked
  const parts = await engine.records.logs.read({ of, attempt, after, limit: PARTS })
  return { lines: parts.flatMap(linesOf), next: parts.at(-1)?.id ?? after, more: parts.length === PARTS }
}

function linesOf({ runId, node, attempt, first, lines }: LogPart): LogLines['lines'] {
  return lines.map(({ t, l, s, m, f }, at) => ({
    runId,
    node,
    attempt,
    number: first + at,
    at: new Date(t),
    level: l,
    stream: s ?? null,
    text: m,
    fields: f ?? null,
  }))
}
