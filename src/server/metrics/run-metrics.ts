/**
 * Runs and workers under the conventional names of workers on such tables: workflow_run_*, workflow_worker_*. They
 * cover what passed through this process; queue depth and the workers with a session are read from the store, at most
 * every ten seconds.
 */
import { Counter, Gauge, type Metric, type Registry } from 'prom-client'
import type { MeasuredEngine } from './measured.ts'
import { OTHER, type PairCount, type RunMeter, SECONDS } from './run-meter.ts'

const STALE_MS = 10_000
const MOST_TYPES = 500

export interface RunMetricsHow {
  readonly registry: Registry
  readonly meter: RunMeter
  readonly queries: MeasuredEngine['queries']
  /** true: also the workers of other processes, as recorded in the store. */
  readonly allWorkers: boolean
  /** The store could not be read; the last values are still shown. */
  readonly failed: () => void
}

type Labels = Record<string, string>

export function measureRuns(how: RunMetricsHow): void {
  countRuns(how)
  countPolls(how)
  measureDepth(how)
  measureWorkers(how)
}

function countRuns({ registry, meter }: RunMetricsHow): void {
  const pairs = ['workflow_type', 'worker_id']
  const count = (
    name: string,
    help: string,
    labels: readonly string[],
    each: (pair: PairCount, add: (labels: Labels, by: number) => void) => void,
  ): void => {
    const counter = new Counter({
      name,
      help,
      labelNames: [...pairs, ...labels],
      registers: [registry],
      collect() {
        counter.reset()
        for (const pair of meter.pairs) {
          each(pair, (more, by) => {
            if (by > 0) counter.inc({ workflow_type: pair.type, worker_id: pair.worker, ...more }, by)
          })
        }
      },
    })
  }
  count('workflow_run_claimed_total', 'Runs handed out to workers.', [], (pair, add) => add({}, pair.claimed))
  count('workflow_run_completed_total', 'Runs that ended, by outcome.', ['status'], (pair, add) => {
    for (const [status, ended] of pair.ended) add({ status }, ended)
  })
  count('workflow_run_failed_total', 'Runs that failed for good.', [], (pair, add) =>
    add({}, pair.ended.get('failed') ?? 0),
  )
  count('workflow_run_failed_attempts_total', 'Executions that failed.', ['attempt'], (pair, add) => {
    for (const [i, attempt] of ['1', '2', '3+'].entries()) add({ attempt }, pair.failed[i] as number)
  })
  registry.registerMetric(durations(meter))
}

/** A histogram that is read instead of observed: the counting is done by the time of a scrape. */
function durations(meter: RunMeter): Metric {
  const name = 'workflow_run_execution_duration_seconds'
  const help = 'From start to end of an execution, by its status; pending: it will be tried again.'
  const get = async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: meter.pairs.flatMap(linesOf) })
  return { name, help, get, reset: () => undefined } as unknown as Metric
}

function linesOf(pair: PairCount): readonly object[] {
  const name = 'workflow_run_execution_duration_seconds'
  return [...pair.durations].flatMap(([status, taken]) => {
    const labels = { workflow_type: pair.type, worker_id: pair.worker, status }
    let total = 0
    const buckets = taken.buckets.map((count, i) => {
      total += count
      return { metricName: `${name}_bucket`, labels: { le: SECONDS[i] ?? '+Inf', ...labels }, value: total }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: taken.sum },
      { metricName: `${name}_count`, labels, value: total },
    ]
  })
}

function countPolls({ registry, meter }: RunMetricsHow): void {
  const polls = new Counter({
    name: 'workflow_worker_poll_cycle_total',
    help: 'Claims of a worker that were answered.',
    labelNames: ['worker_id'],
    registers: [registry],
    collect() {
      polls.reset()
      for (const { worker, polls: count } of meter.workers) if (count > 0) polls.inc({ worker_id: worker }, count)
    },
  })
  const errors = new Counter({
    name: 'workflow_worker_poll_errors_total',
    help: 'Claims of a worker that failed.',
    labelNames: ['worker_id', 'error_type'],
    registers: [registry],
    collect() {
      errors.reset()
      for (const { worker, errors: byType } of meter.workers) {
        for (const [type, count] of byType) errors.inc({ worker_id: worker, error_type: type }, count)
      }
    },
  })
}

function measureDepth({ registry, queries, failed }: RunMetricsHow): void {
  const depths = new Lately(() => queries.typeDepths(), failed)
  const gauge = new Gauge({
    name: 'workflow_run_queue_depth',
    help: 'Runs that have not ended, by type and status. Of the whole store, at most ten seconds old; pending ones of each queue and type up to 10,000.',
    labelNames: ['workflow_type', 'status'],
    registers: [registry],
    async collect() {
      const rows = await depths.get()
      if (rows === null) return
      gauge.reset()
      const sorted = [...rows].sort((a, b) => b.count - a.count)
      for (const [i, { type, status, count }] of sorted.entries()) {
        gauge.inc({ workflow_type: i < MOST_TYPES ? type : OTHER, status }, count)
      }
    },
  })
}

interface Seen {
  readonly since: number
  readonly lastAt: number | null
}

function measureWorkers({ registry, meter, queries, allWorkers, failed }: RunMetricsHow): void {
  const known = new Lately(async () => {
    const [rows, now] = await Promise.all([queries.workers(), queries.now()])
    const ahead = now - Date.now()
    return rows
      .filter((row) => row.state !== 'dead')
      .map((row) => ({ name: row.name, since: row.startedAt - ahead, lastAt: row.heartbeatAt - ahead }))
  }, failed)
  /** A claim seen here is more recent than a heartbeat read from the store. */
  const workers = async (): Promise<ReadonlyMap<string, Seen>> => {
    const seen = new Map<string, Seen>()
    for (const row of allWorkers ? ((await known.get()) ?? []) : []) seen.set(row.name, row)
    for (const { worker, since, lastPollAt } of meter.workers) {
      seen.set(worker, { since: Math.min(since, seen.get(worker)?.since ?? since), lastAt: lastPollAt })
    }
    return seen
  }
  const uptime = new Gauge({
    name: 'workflow_worker_uptime_seconds',
    help: 'Since the worker registered, or since its first claim through this process.',
    labelNames: ['worker_id'],
    registers: [registry],
    async collect() {
      uptime.reset()
      for (const [worker, { since }] of await workers()) uptime.set({ worker_id: worker }, (Date.now() - since) / 1000)
    },
  })
  const lastPoll = new Gauge({
    name: 'workflow_worker_last_poll_timestamp',
    help: 'Unix time of the last answered claim; for a worker of another process, of its last heartbeat.',
    labelNames: ['worker_id'],
    registers: [registry],
    async collect() {
      lastPoll.reset()
      for (const [worker, { lastAt }] of await workers()) {
        if (lastAt !== null) lastPoll.set({ worker_id: worker }, Math.floor(lastAt / 1000))
      }
    },
  })
}

/** The last answer of the store: read at most every ten seconds, and again at once if it failed. */
class Lately<T> {
  readonly #read: () => Promise<T>
  readonly #failed: () => void
  #value: T | null = null
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | null = null

  constructor(read: () => Promise<T>, failed: () => void) {
    this.#read = read
    this.#failed = failed
  }

  async get(): Promise<T | null> {
    if (performance.now() - this.#readAt >= STALE_MS) {
      this.#reading ??= this.#refresh().finally(() => {
        this.#reading = null
      })
      await this.#reading
    }
    return this.#value
  }

  async #refresh(): Promise<void> {
    try {
      this.#value = await this.#read()
      this.#readAt = performance.now()
    } catch {
      this.#failed()
    }
  }
}
