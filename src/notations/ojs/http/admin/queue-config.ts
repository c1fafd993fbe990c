/** What an operator sets for a queue: how much may wait in it (backpressure), and its limits of concurrency and rate. */

import type { EngineApi } from '../../../../engine/api.ts'
import { isoDuration, parseDuration } from '../../../../kernel/duration.ts'
import type { LimitRow } from '../../../../model/rows.ts'
import { kindOf, type Part } from '../../../source/reader.ts'

/** As stored. */
export interface QueueConfig {
  readonly backpressure?: Backpressure
}

export interface Backpressure {
  /** Jobs that have not ended; beyond it none is taken. */
  readonly maxDepth: number
  readonly strategy: 'reject'
  /** Part of maxDepth from which on answers tell the pressure. */
  readonly warningThreshold: number
}

export interface ConfigAsked {
  /** undefined: stays. null: none any more. */
  readonly backpressure?: Backpressure | null
  readonly concurrency?: number | null
  readonly rate?: Rate | null
}

interface Rate {
  readonly ratePer: number
  readonly periodMs: number
}

const GREATEST = 1_000_000_000

/** Parts that are named take the place of those before; null takes one away. Mistakes are noted. */
export function readConfig(part: Part): ConfigAsked {
  part.hasOnly(['backpressure', 'concurrency', 'rate_limit', 'retention'], 'the configuration of a queue')
  const concurrency = part.get('concurrency')
  return {
    ...(part.has('backpressure') ? { backpressure: readBackpressure(part.get('backpressure')) } : {}),
    ...(part.has('concurrency')
      ? {
          concurrency:
            concurrency.value === null ? null : concurrency.whole('concurrency', { least: 0, most: GREATEST }),
        }
      : {}),
    ...(part.has('rate_limit') ? { rate: readRate(part.get('rate_limit')) } : {}),
  }
}

function readBackpressure(part: Part): Backpressure | null {
  if (part.value === null) return null
  if (!part.isObject) {
    part.wrong(`backpressure is an object, this is ${kindOf(part.value)}`, '{ "max_depth": 50000 }')
    return null
  }
  part.hasOnly(['max_depth', 'strategy', 'warning_threshold'], 'backpressure')
  part.get('strategy').choice('strategy', ['reject'])
  const depth = part.get('max_depth')
  if (!depth.given) depth.wrong('max_depth is missing', 'a whole number; 0: unbounded')
  const maxDepth = depth.whole('max_depth', { least: 0, most: GREATEST })
  const warningThreshold = part.get('warning_threshold').number('warning_threshold', 0, 1) ?? 0.8
  return maxDepth === null || maxDepth === 0 ? null : { maxDepth, strategy: 'reject', warningThreshold }
}

function readRate(part: Part): Rate | null {
  if (part.value === null) return null
  if (!part.isObject) {
    part.wrong(`rate_limit is an object, this is ${kindOf(part.value)}`, '{ "limit": 1000, "period": "PT1H" }')
    return null
  }
  part.hasOnly(['limit', 'period'], 'rate_limit')
  const ratePer = part.get('limit').whole('limit', { least: 1, most: GREATEST })
  const periodMs = readPeriod(part.get('period'))
  if (!part.get('limit').given || !part.get('period').given) part.wrong('rate_limit needs a limit and a period')
  return ratePer === null || periodMs === null ? null : { ratePer, periodMs }
}

/** `1m` as the admin pages write it, or PT1M. */
export function readPeriod(part: Part): number | null {
  const ms = typeof part.value === 'string' ? parseDuration(part.value) : null
  if (ms !== null && ms > 0) return ms
  if (part.given) {
    const hint = 'for example "30s", "1m", "1h" or "PT1M"; at most 100 years'
    part.wrong(`period is a duration longer than nothing, as a text; this is ${kindOf(part.value)}`, hint)
  }
  return null
}

export async function applyConfig(
  engine: EngineApi,
  p: { readonly queue: string; readonly asked: ConfigAsked; readonly actor: string | null },
): Promise<void> {
  const { queries } = engine
  const { settings } = engine.records
  const { backpressure, concurrency, rate } = p.asked
  if (concurrency !== undefined || rate !== undefined) {
    const key = `queue:${p.queue}`
    const row = (await queries.limits()).find((limit) => limit.key === key)
    await engine.setLimit({
      key,
      maxConcurrent: concurrency === undefined ? (row?.maxConcurrent ?? null) : concurrency,
      ratePer: rate === undefined ? (row?.ratePer ?? null) : (rate?.ratePer ?? null),
      periodMs: rate === undefined ? (row?.periodMs ?? null) : (rate?.periodMs ?? null),
    })
  }
  if (backpressure === undefined) return
  const config: QueueConfig = backpressure === null ? {} : { backpressure }
  const now = await engine.queries.now()
  await settings.putQueueConfig({
    name: p.queue,
    config: JSON.stringify(config),
    updatedAt: now,
    updatedBy: p.actor,
  })
}

export function configWire(config: QueueConfig, limit: LimitRow | undefined): object {
  const { backpressure } = config
  return {
    ...(backpressure === undefined ? {} : { backpressure: backpressureWire(backpressure) }),
    ...(limit === undefined || limit.maxConcurrent === null ? {} : { concurrency: limit.maxConcurrent }),
    ...(limit === undefined || limit.ratePer === null || limit.periodMs === null
      ? {}
      : { rate_limit: { limit: limit.ratePer, period: isoDuration(limit.periodMs) } }),
  }
}

function backpressureWire({ maxDepth, strategy, warningThreshold }: Backpressure): object {
  return { enabled: true, max_depth: maxDepth, strategy, warning_threshold: warningThreshold }
}
