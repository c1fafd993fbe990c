/**
 * The content of /metrics: pending and active runs per queue, the counters of this process, its requests and its event
 * loop. Reading the queues costs the store a bounded read of each, at most every ten seconds.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { QueueCounts } from '../../model/rows.ts'
import type { MeasuredEngine } from './measured.ts'
import type { RunMeter } from './run-meter.ts'
import { measureRuns } from './run-metrics.ts'
import type { Tally } from './tally.ts'

const STALE_MS = 10_000
const MOST_REPORTS = 100
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]

/** Counters of the engine of this process, with their meaning. */
const COUNTED: { readonly [name: string]: string } = {
  runs: 'Runs created.',
  claims: 'Transactions that handed out runs.',
  claimed_runs: 'Runs handed out.',
  settles: 'Transactions that ended executions.',
  settled_runs: 'Executions ended.',
  succeeded: 'Runs that succeeded.',
  failed: 'Runs that failed for good.',
  cancelled: 'Runs that were cancelled.',
  retried: 'Executions that failed and will be retried.',
}

const STATES = ['available', 'scheduled', 'retryable', 'held', 'leased'] as const

export interface Measured {
  readonly engine: MeasuredEngine
  readonly version: string
  readonly streams: Tally
  readonly inFlight: Tally
  readonly meter: RunMeter
}

export class Instruments {
  readonly registry = new Registry()
  readonly durations: Histogram

  constructor({ engine, version, streams, inFlight, meter }: Measured) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry })
    const info = {
      name: 'petrel_info',
      help: 'Always 1; the labels describe the version.',
      labelNames: ['version', 'store'],
      registers,
    }
    new Gauge(info).set({ version, store: engine.storage.kind }, 1)
    this.durations = new Histogram({
      name: 'petrel_http_request_duration_seconds',
      help: 'From the arrival of a request to the end of its answer. Long polls last as long as they wait.',
      labelNames: ['method', 'route', 'status'],
      buckets: SECONDS,
      registers,
    })
    this.#tally('petrel_http_requests_in_flight', 'Requests in progress.', ['method', 'route'], inFlight)
    this.#tally('petrel_event_streams', 'Event streams open to this process, by kind.', ['kind'], streams)
    this.#measureEngine(engine)
    this.#measureFaults(engine)
    const errors = new Counter({
      name: 'petrel_store_read_errors_total',
      help: 'Times the store could not be read for these metrics.',
      registers,
    })
    const failed = (): void => errors.inc()
    this.#measureQueues(engine, failed)
    measureRuns({ registry: this.registry, meter, queries: engine.queries, allWorkers: true, failed })
  }

  #tally(name: string, help: string, labelNames: readonly string[], tally: Tally): void {
    const gauge = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      collect() {
        for (const { labels, value } of tally.counts) gauge.set(labels, value)
      },
    })
  }

  #measureEngine(engine: MeasuredEngine): void {
    for (const [name, help] of Object.entries(COUNTED)) {
      const counter = new Counter({
        name: `petrel_${name}_total`,
        help: `${help} By this process.`,
        registers: [this.registry],
        collect() {
          counter.reset()
          counter.inc(engine.counters()[name] ?? 0)
        },
      })
    }
  }

  #measureFaults(engine: MeasuredEngine): void {
    const labels = { labelNames: ['code'], registers: [this.registry] }
    const total = new Counter({
      name: 'petrel_contained_faults_total',
      help: 'Findings, outcomes, events and rows that could not be handled and were left out, by code. By this process.',
      ...labels,
      collect() {
        total.reset()
        for (const [code, count] of engine.faults.counts()) total.inc({ code }, count)
      },
    })
    const standing = new Gauge({
      name: 'petrel_standing_faults',
      help: 'Those of them that have not succeeded since; they are retried at growing intervals. Of this process.',
      ...labels,
      collect() {
        standing.reset()
        for (const [code, count] of engine.faults.standing()) standing.set({ code }, count)
      },
    })
  }

  #measureQueues(engine: MeasuredEngine, failed: () => void): void {
    const read = rarely(() => loadsOf(engine))
    const waiting = new Gauge({
      name: 'petrel_queue_runs',
      help: 'Runs that have not ended, by queue and state. Of the whole store, at most ten seconds old; of a long queue estimated.',
      labelNames: ['queue', 'state'],
      registers: [this.registry],
      async collect() {
        const loads = await read().catch(failed)
        if (loads === undefined) return
        waiting.reset()
        for (const { queue, counts } of loads) {
          for (const state of STATES) waiting.set({ queue, state }, counts[state])
        }
      },
    })
    const oldest = new Gauge({
      name: 'petrel_queue_oldest_due_seconds',
      help: 'How long the run has been due that was due first, by queue; 0: none is due. With more than 100 queues unknown.',
      labelNames: ['queue'],
      registers: [this.registry],
      async collect() {
        const loads = await read().catch(() => undefined)
        if (loads === undefined) return
        oldest.reset()
        for (const { queue, oldestMs } of loads) if (oldestMs !== null) oldest.set({ queue }, oldestMs / 1000)
      },
    })
  }
}

/** The result of the last read while it is fresh. A read that failed is tried again. */
function rarely<T>(read: () => Promise<T>): () => Promise<T> {
  let last: Promise<T> | null = null
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (last !== null && performance.now() - readAt < STALE_MS) return last
    readAt = performance.now()
    last = read()
    last.catch(() => {
      last = null
    })
    return last
  }
}

interface Load {
  readonly queue: string
  readonly counts: Omit<QueueCounts, 'queue'>
  /** null: unknown. */
  readonly oldestMs: number | null
}

/** A report of each queue costs little however long it is; of very many queues each is only counted, not so far. */
async function loadsOf(engine: MeasuredEngine): Promise<readonly Load[]> {
  const names = await engine.queries.queueing.names({ limit: MOST_REPORTS + 1 })
  if (names.length > MOST_REPORTS) {
    const counted = await engine.queueStats({ queue: null, minutes: 0 })
    return counted.map((stats) => ({ queue: stats.name, counts: { ...stats, leased: stats.active }, oldestMs: null }))
  }
  const loads: Load[] = []
  for (const queue of names) {
    const { depth, oldestDueAt, now } = await engine.queueReport({ queue, minutes: 1, counted: false })
    loads.push({
      queue,
      counts: { ...depth, leased: depth.active },
      oldestMs: oldestDueAt === null ? 0 : now - oldestDueAt,
    })
  }
  return loads
}
