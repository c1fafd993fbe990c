/**
 * GET /ojs/v1/admin/stats/stream, for pages that show a server as it works: `metrics` at once and every few seconds,
 * and each job that is enqueued, completed, failed or cancelled. Only new events are sent; a stream cannot be resumed.
 */
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import type { WorkerRow } from '../../../../model/rows.ts'
import { type Caller, maySee, operator } from '../../../../operations/caller.ts'
import { type Feed, openFeed } from '../../../../operations/events/feed.ts'
import type { Operations, Perform } from '../../../../operations/operation.ts'
import { sampleServer } from '../../../../operations/statistics/statistics.ts'
import { heldBy } from '../../../../operations/workers/workers.ts'
import { text } from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import type { HubEvent } from '../events/event-hub.ts'
import { pump } from '../events/event-listener.ts'
import { endOf } from '../events/event-stream.ts'
import { frame, goodbyeTo, overSse, type SseReply } from '../events/sse.ts'
import { RECENT_MINUTES, throughputOf } from './queue-wire.ts'
import { STATES } from './worker-wire.ts'

const EVERY_MS = 3_000
/** Queues and workers in one sample. */
const MOST_SHOWN = 500

const COUNTED = ['job.enqueued', 'job.completed', 'job.failed', 'job.cancelled'] as const
type Counted = (typeof COUNTED)[number]

interface Sample {
  readonly queues: readonly object[]
  readonly workers: readonly { readonly row: WorkerRow; readonly active: number | null }[]
  readonly errorRate: number
}

export const STATS_STREAM_ROUTES = [
  route(
    'GET /ojs/v1/admin/stats/stream',
    {
      tag: 'Administration',
      summary: 'Numbers of the server, and jobs, as they happen',
      does: sampleServer,
      otherQuery: 'ignored',
      answers: {
        '200': {
          description:
            'Server-sent events: `metrics` at once and every three seconds, `job.enqueued`, `job.completed`, ' +
            '`job.failed` and `job.cancelled` as they happen.',
          schema: text(),
          type: 'text/event-stream',
        },
      },
      stream: 'always',
    },
    async ({ perform, request, reply }, context) => {
      const feed = await perform(openFeed, null)
      await context.streamSeats.taken(request, () => follow({ context, request, reply }, feed))
      return reply
    },
  ),
]

async function follow(streaming: SseReply, feed: Feed): Promise<void> {
  const { context, request } = streaming
  const from = await endOf(feed)
  await overSse(streaming, async (sse) => {
    const rates = new Rates()
    let sampling = false
    const sample = async (): Promise<void> => {
      if (sampling) return
      sampling = true
      try {
        const printed = JSON.stringify({
          ...metricsOf(await context.sampler.latest(), request.caller),
          throughput: rates.take(),
        })
        if (!sse.gone.aborted && !sse.isFull()) sse.write(frame({ type: 'metrics', text: printed }))
      } catch (error) {
        context.logger?.warn({ err: error }, 'numbers of the server could not be read; trying again')
      } finally {
        sampling = false
      }
    }
    await sample()
    const timer = setInterval(() => void sample(), EVERY_MS)
    try {
      const ending = await pump({
        hub: context.hub,
        from,
        wants: (event) => feed.sees(event) && rates.count(event.wire.type),
        outlet: {
          send: ({ wire }) => sse.write(frame({ type: wire.type, text: JSON.stringify(jobLine(wire)) })),
          drained: sse.drained,
        },
        gone: sse.gone,
        closing: context.closing,
      })
      sse.write(goodbyeTo(ending, 'all') ?? '')
    } finally {
      clearInterval(timer)
    }
  })
}

/** Flat, as the pages read it. */
function jobLine({ data, time }: HubEvent['wire']): object {
  const { job_id, job_type, queue, attempt, duration_ms, error } = data
  const message = error !== null && typeof error === 'object' && 'message' in error ? error['message'] : undefined
  return { job_id, job_type, queue, timestamp: time, attempt, duration: duration_ms, error: message }
}

function metricsOf({ queues, workers, errorRate }: Sample, caller: Caller): object {
  const seen = workers.filter(({ row }) => maySee(caller, row))
  const active = seen.slice(0, MOST_SHOWN).map(({ row, active: jobs }) => ({
    id: unscopedName(row.id),
    state: STATES[row.state],
    ...(jobs === null ? {} : { activeJobs: jobs }),
    lastHeartbeatAt: timeText(row.heartbeatAt),
  }))
  return { queues, workers: { total: seen.length, active }, error_rate: errorRate }
}

/** What one stream was sent since its previous sample, per second. */
class Rates {
  readonly #counts = new Map<string, number>()
  #since = performance.now()

  /** false: of another type. */
  count(type: string): boolean {
    if (!COUNTED.includes(type as Counted)) return false
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1)
    return true
  }

  take(): object {
    const now = performance.now()
    const seconds = Math.max(1, (now - this.#since) / 1_000)
    const rate = (type: Counted): number => Math.round(((this.#counts.get(type) ?? 0) / seconds) * 100) / 100
    const rates = {
      processed_per_second: rate('job.completed'),
      failed_per_second: rate('job.failed'),
      enqueued_per_second: rate('job.enqueued'),
    }
    this.#counts.clear()
    this.#since = now
    return rates
  }
}

/** One reading for all streams of this process. */
export class Sampler {
  readonly #perform: Perform
  #latest: Promise<Sample> | null = null

  /** What it reads is filtered for each caller. */
  constructor(operations: Operations) {
    this.#perform = operations.for(operator(null))
  }

  latest(): Promise<Sample> {
    if (this.#latest === null) {
      const reading = this.#read()
      this.#latest = reading
      const forget = (): void => {
        if (this.#latest === reading) this.#latest = null
      }
      reading.then(() => setTimeout(forget, EVERY_MS / 2).unref(), forget)
    }
    return this.#latest
  }

  async #read(): Promise<Sample> {
    const { queues: stats, workers: rows, active, now } = await this.#perform(sampleServer, { minutes: RECENT_MINUTES })
    const { processed_per_minute: processed, failed_per_minute: failed } = throughputOf(stats, now)
    const queues = stats.slice(0, MOST_SHOWN).map(({ name, available, active: running, scheduled, retryable }) => ({
      queue: name,
      available,
      active: running,
      scheduled,
      retryable,
    }))
    const living = rows.filter(({ state }) => state !== 'dead')
    const workers = living.map((row) => ({ row, active: active === null ? null : heldBy(row, active).length }))
    return { queues, workers, errorRate: Math.round((failed / (processed + failed || 1)) * 10_000) / 100 }
  }
}
