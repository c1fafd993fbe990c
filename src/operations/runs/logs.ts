/** What executions log: read by run or by instance, followed, and written by workers with leases of their own. */

import { type PetrelError, runError } from '../../kernel/errors.ts'
import {
  bytesOf,
  type LogLevel,
  type LogLine,
  type LogStream,
  logLine,
  PART_BYTES,
  PART_LINES,
} from '../../kernel/log-lines.ts'
import type { LogPart, LogQuery } from '../../model/logs.ts'
import { TERMINAL } from '../../net/marking.ts'
import { holderOf } from '../caller.ts'
import { findInstance } from '../instances/find.ts'
import { operation, type Use } from '../operation.ts'
import { findRun } from './find.ts'

export interface LogAsked {
  readonly id: string
  /** Only this execution; null: all. */
  readonly attempt: number | null
  /** After this part. */
  readonly after: number
}

export interface LogPage {
  readonly parts: readonly LogPart[]
  /** Send it as `after`. */
  readonly next: number
  readonly more: boolean
}

/** Parts of one page: about a megabyte. */
const PARTS = 32

export const readRunLog = operation({ scope: 'read' }, async (use, { id, ...asked }: LogAsked): Promise<LogPage> => {
  const { id: runId } = await findRun(use, id)
  return pageOf(use, { of: { runId }, ...asked })
})

/** Of all its runs; those of nested workflows have logs of their own. */
export const readInstanceLog = operation(
  { scope: 'read' },
  async (use, { id, ...asked }: LogAsked): Promise<LogPage> => {
    const { id: instanceId } = await findInstance(use, id)
    return pageOf(use, { of: { instanceId }, ...asked })
  },
)

async function pageOf({ engine }: Use, asked: Omit<LogQuery, 'limit'>): Promise<LogPage> {
  const found = await engine.records.logs.read({ ...asked, limit: PARTS + 1 })
  const parts = found.slice(0, PARTS)
  return { parts, next: parts.at(-1)?.id ?? asked.after, more: found.length > parts.length }
}

export interface FollowedLog {
  /** `ended`: no more lines will follow. */
  read(after: number): Promise<LogPage & { readonly ended: boolean }>
}

/**
 * Parts of different runs may become visible in another order than that of their ids, so a reader of an instance looks back:
 * parts that it has seen are left out.
 */
const LOOK_BACK = 200

export const followRunLog = operation(
  { scope: 'read' },
  async (use, { id, attempt }: Omit<LogAsked, 'after'>): Promise<FollowedLog> => {
    const { id: runId } = await findRun(use, id)
    return {
      read: async (after) => {
        // Read before the lines: an end that is seen here has all its lines already.
        const run = await use.engine.queries.run(runId)
        const page = await pageOf(use, { of: { runId }, attempt, after })
        return { ...page, ended: !page.more && (run === null || run.settledAt !== null) }
      },
    }
  },
)

export const followInstanceLog = operation(
  { scope: 'read' },
  async (use, { id, attempt }: Omit<LogAsked, 'after'>): Promise<FollowedLog> => {
    const { id: instanceId } = await findInstance(use, id)
    const seen = new Set<number>()
    let begun: number | null = null
    return {
      read: async (after) => {
        begun ??= after
        const row = await use.engine.queries.instance(instanceId)
        const page = await pageOf(use, { of: { instanceId }, attempt, after: Math.max(begun, after - LOOK_BACK) })
        const parts = page.parts.filter(({ id: part }) => !seen.has(part))
        for (const { id: part } of parts) seen.add(part)
        for (const part of seen) if (part < page.next - 2 * LOOK_BACK) seen.delete(part)
        const ended = !page.more && parts.length === 0 && (row === null || TERMINAL.has(row.state))
        return { parts, next: Math.max(after, page.next), more: page.more && parts.length > 0, ended }
      },
    }
  },
)

export interface LinesWritten {
  readonly id: string
  /** The name that the worker gives itself. */
  readonly worker: string
  readonly epoch: number
  readonly lines: readonly {
    readonly at: number | null
    readonly level: LogLevel
    readonly stream: LogStream | null
    readonly text: string
    readonly fields: unknown
  }[]
}

/** All lines, or `stale_lease` if the worker no longer holds the run. */
export const writeRunLog = operation(
  { scope: 'work' },
  async (use, { id, worker, epoch, lines }: LinesWritten): Promise<{ readonly stored: number }> => {
    const { engine, caller } = use
    const run = await findRun(use, id)
    const now = Date.now()
    const holder = holderOf(caller, worker)
    for (const part of partsOf(lines.map((line) => logLine({ ...line, at: line.at ?? now })))) {
      const stored = await engine.records.logs.append([{ runId: run.id, epoch, holder, first: null, lines: part }])
      if (stored === 0) throw staleLease(await findRun(use, id), epoch)
    }
    return { stored: lines.length }
  },
)

function partsOf(lines: readonly LogLine[]): readonly (readonly LogLine[])[] {
  const parts: LogLine[][] = []
  let bytes = 0
  for (const line of lines) {
    const own = bytesOf(line)
    const last = parts.at(-1)
    if (last !== undefined && bytes + own <= PART_BYTES && last.length < PART_LINES) {
      last.push(line)
      bytes += own
    } else {
      parts.push([line])
      bytes = own
    }
  }
  return parts
}

function staleLease(
  run: { readonly id: string; readonly status: string; readonly epoch: number },
  epoch: number,
): PetrelError {
  const why =
    run.status !== 'leased'
      ? `is ${run.status}`
      : run.epoch !== epoch
        ? `is at epoch ${run.epoch}, not ${epoch}`
        : 'is held by another worker'
  return runError('stale_lease', run.id, `${why}; only the holder of its lease writes its log`, { status: run.status })
}
