/** The configuration of a queue: how many runs it accepts (backpressure), and its limits of concurrency and rate. */
import type { EngineApi } from '../../engine/api.ts'
import type { LimitRow } from '../../model/rows.ts'
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'

/** As stored. */
export interface QueueConfig {
  readonly backpressure?: Backpressure
}

export interface Backpressure {
  /** Runs that have not ended; beyond this number none is accepted. */
  readonly maxDepth: number
  readonly strategy: 'reject'
  /** Part of maxDepth above which answers report the pressure. */
  readonly warningThreshold: number
}

export interface Rate {
  readonly ratePer: number
  readonly periodMs: number
}

/** Missing fields keep their value; null removes one. */
export interface ConfigAsked {
  readonly backpressure?: Backpressure | null
  readonly concurrency?: number | null
  readonly rate?: Rate | null
}

export interface Configured {
  readonly config: QueueConfig
  readonly limit: LimitRow | null
}

interface ByName {
  readonly name: string
}

export const showQueueConfig = operation(
  { scope: 'read', shared: true },
  async ({ engine, bounds }, { name }: ByName): Promise<Configured> => {
    const [config, limit] = await Promise.all([bounds.configOf(name), limitOf(engine, name)])
    return { config, limit }
  },
)

export const configureQueue = operation(
  { scope: 'admin', shared: true },
  async (use, { name, ...asked }: ByName & ConfigAsked): Promise<Configured> => {
    if (asked.concurrency !== undefined || asked.rate !== undefined) await setLimit(use, name, asked)
    if (asked.backpressure !== undefined) await setBackpressure(use, name, asked.backpressure)
    use.bounds.forget()
    return showQueueConfig.run(use, { name })
  },
)

async function setLimit({ engine }: Use, name: string, { concurrency, rate }: ConfigAsked): Promise<void> {
  const row = await limitOf(engine, name)
  await engine.setLimit({
    key: keyOf(name),
    maxConcurrent: concurrency === undefined ? (row?.maxConcurrent ?? null) : concurrency,
    ratePer: rate === undefined ? (row?.ratePer ?? null) : (rate?.ratePer ?? null),
    periodMs: rate === undefined ? (row?.periodMs ?? null) : (rate?.periodMs ?? null),
  })
}

async function setBackpressure(
  { engine, caller }: Use,
  name: string,
  backpressure: Backpressure | null,
): Promise<void> {
  const config: QueueConfig = backpressure === null ? {} : { backpressure }
  const updatedAt = await engine.queries.now()
  await engine.records.settings.putQueueConfig({
    name,
    config: JSON.stringify(config),
    updatedAt,
    updatedBy: actorOf(caller),
  })
}

async function limitOf({ queries }: EngineApi, name: string): Promise<LimitRow | null> {
  return (await queries.limits()).find(({ key }) => key === keyOf(name)) ?? null
}

function keyOf(name: string): string {
  return `queue:${name}`
}
