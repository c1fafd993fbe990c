/**
 * GET /ojs/v1/jobs/:id/progress/stream: the progress of one job, as GET …/progress shows it, now and whenever it has
 * changed, until the job has ended. The messages have no type, so that a browser hears them by `onmessage`. Workers
 * of a Petrel process report without an event: their reports are seen when the store is read again by the clock.
 */

import type { FastifyInstance } from 'fastify'
import { RequestError } from '../../../../http/request-error.ts'
import { sleep } from '../../../../kernel/sleep.ts'
import type { OjsContext } from '../context.ts'
import { findRun } from '../jobs/job-reply.ts'
import { endsJob } from './event-filter.ts'
import type { EventHub, HubEvent } from './event-hub.ts'
import { pump } from './event-listener.ts'
import { WHOLE } from './event-place.ts'
import { progressOf } from './progress.ts'
import { frame, goodbyeTo, HEARTBEAT_MS, overSse, type Sse, type SseReply } from './sse.ts'

type ById = { Params: { readonly id: string } }

/** However often a worker reports: each look is a read or two. */
const LEAST_MS = 200

export function progressStream(app: FastifyInstance, context: OjsContext, hub: EventHub): void {
  app.get<ById>(
    '/ojs/v1/jobs/:id/progress/stream',
    { exposeHeadRoute: false, config: { stream: 'always' } },
    async (request, reply) => {
      const { id } = await findRun(context.engine, request.params.id, request.caller)
      return context.streamSeats.taken(request, () => follow({ context, request, reply }, hub, id))
    },
  )
}

async function follow(streaming: SseReply, hub: EventHub, id: string): Promise<void> {
  const { context, request } = streaming
  // Before the first look: what changes afterwards comes after this place.
  const from = { feedId: await hub.end(), part: WHOLE }
  await overSse(streaming, async (sse) => {
    const over = new AbortController()
    const gone = AbortSignal.any([sse.gone, over.signal])
    const read = async (): Promise<Reading> => {
      const run = await findRun(context.engine, id, request.caller)
      const ended = run.status !== 'pending' && run.status !== 'leased'
      return { text: JSON.stringify(await progressOf(context.engine, run)), ended }
    }
    const view = new ProgressView({ context, sse, gone, read, end: () => over.abort() })
    await view.show()
    const timer = setInterval(() => view.changed(), HEARTBEAT_MS)
    try {
      const { why } = await pump({
        hub,
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
