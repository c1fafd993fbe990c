/**
 * GET /ojs/v1/jobs/:id/progress/stream: the progress of one job, as GET …/progress shows it, now and whenever it has
 * changed, until the job has ended. The messages have no type, so that a browser receives them by `onmessage`. Workers
 * of a Petrel process report without an event: their reports are seen when the store is read again by the clock.
 */

import { RequestError } from '../../../../http/request-error.ts'
import { sleep } from '../../../../kernel/sleep.ts'
import { type Feed, openFeed } from '../../../../operations/events/feed.ts'
import { type ProgressSeen, showProgress } from '../../../../operations/runs/progress.ts'
import { type OjsContext, route } from '../context.ts'
import { ofJob } from '../jobs/job-problem.ts'
import { Progress, progressWire } from '../wire/progress.ts'
import { endsJob } from './event-filter.ts'
import type { HubEvent } from './event-hub.ts'
import { pump } from './event-listener.ts'
import { endOf } from './event-stream.ts'
import { frame, goodbyeTo, HEARTBEAT_MS, overSse, type Sse, type SseReply } from './sse.ts'

/** However often a worker reports: each look is a read or two. */
const LEAST_MS = 200

export const PROGRESS_STREAM_ROUTES = [
  route(
    'GET /ojs/v1/jobs/:id/progress/stream',
    {
      tag: 'Checkpoints',
      summary: 'Follow the progress of a job',
      description: 'The present state at once, each later one as a message without a type; it ends with the job.',
      does: showProgress,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Server-sent events.', schema: Progress, type: 'text/event-stream' } },
      errors: ['not_found'],
      stream: 'always',
    },
    async ({ params, perform, request, reply }, context) => {
      const { run } = await ofJob(params.id, '', perform(showProgress, params))
      const feed = await perform(openFeed, null)
      const read = (): Promise<ProgressSeen> => ofJob(run.id, '', perform(showProgress, { id: run.id }))
      await context.streamSeats.taken(request, () => follow({ context, request, reply }, { id: run.id, feed, read }))
      return reply
    },
  ),
]

interface Followed {
  readonly id: string
  readonly feed: Feed
  readonly read: () => Promise<ProgressSeen>
}

async function follow(streaming: SseReply, { id, feed, read: show }: Followed): Promise<void> {
  const { context } = streaming
  // Before the first look: what changes afterwards comes after this place.
  const from = await endOf(feed)
  await overSse(streaming, async (sse) => {
    const over = new AbortController()
    const gone = AbortSignal.any([sse.gone, over.signal])
    const read = async (): Promise<Reading> => {
      const seen = await show()
      const { status } = seen.run
      return { text: JSON.stringify(progressWire(seen)), ended: status !== 'pending' && status !== 'leased' }
    }
    const view = new ProgressView({ context, sse, gone, read, end: () => over.abort() })
    await view.show()
    const timer = setInterval(() => view.changed(), HEARTBEAT_MS)
    try {
      const { why } = await pump({
        hub: context.hub,
        from,
        wants: (event) => event.jobId === id && (event.wire.type === 'job.progress' || endsJob(event)),
        outlet: {
          send: (event: HubEvent) => {
            if (!endsJob(event)) view.changed()
            return true
          },
          drained: sse.drained,
        },
        gone,
        closing: context.closing,
        last: endsJob,
      })
      if (why === 'finished') await view.show()
      sse.write(goodbyeTo({ why }, `job:${id}`) ?? '')
    } finally {
      clearInterval(timer)
    }
  })
}

interface Reading {
  readonly text: string
  readonly ended: boolean
}

interface ViewParts {
  readonly context: OjsContext
  readonly sse: Sse
  readonly gone: AbortSignal
  read(): Promise<Reading>
  end(): void
}

/** Shows the newest state, and never reads twice at once: a slow client misses states, but not the last one. */
class ProgressView {
  readonly #parts: ViewParts
  #shown = ''
  #stale = false
  #looking = false

  constructor(parts: ViewParts) {
    this.#parts = parts
  }

  changed(): void {
    this.#stale = true
    if (!this.#looking) void this.#catchUp()
  }

  async show(): Promise<void> {
    const { context, sse, gone, read, end } = this.#parts
    try {
      const { text, ended } = await read()
      if (text !== this.#shown && !gone.aborted) {
        this.#shown = text
        sse.write(frame({ text }))
      }
      if (ended) end()
    } catch (error) {
      // Removed meanwhile.
      if (error instanceof RequestError) end()
      else context.logger?.warn({ err: error }, 'progress could not be read; trying again')
    }
  }

  async #catchUp(): Promise<void> {
    const { sse, gone } = this.#parts
    this.#looking = true
    while (this.#stale && !gone.aborted && !sse.isFull()) {
      this.#stale = false
      await this.show()
      await sleep(LEAST_MS)
    }
    this.#looking = false
  }
}
