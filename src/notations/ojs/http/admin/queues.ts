/** /ojs/v1/queues: list, look, statistics, pause and resume. A queue is there as soon as somebody names it. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../../../engine/api.ts'
import { onlyKnown, type Query } from '../../../../http/query.ts'
import { RequestError } from '../../../../http/request-error.ts'
import type { QueueStats } from '../../../../model/queries/overview.ts'
import { actorOf, type Caller } from '../../../../operations/caller.ts'
import { isQueueName } from '../../compile/names.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { PAGE_PARAMS, pageWire, readPage } from '../paging.ts'

type ByName = { Params: { readonly name: string } }

const MINUTES = 60

export function queueRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/queues', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const all = [...(await engine.queueStats({ queue: null, minutes: 0 }))].sort((a, b) => (a.name < b.name ? -1 : 1))
    const rest = (after === null ? all : all.filter((queue) => queue.name > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const last = shown.at(-1)?.name ?? null
    return {
      queues: shown.map(queueWire),
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last }),
    }
  })

  app.get<ByName>('/ojs/v1/queues/:name', async (request) => {
    const queue = queueWire(await statsOf(engine, request.params.name))
    return { queue, ...queue }
  })

  app.get<ByName>('/ojs/v1/queues/:name/stats', async (request) => {
    const [found, now] = await Promise.all([statsOf(engine, request.params.name), engine.queries.now()])
    const counts = countsWire(found)
    const lately = lastHourWire(found)
    const queue = { ...queueWire(found), ...counts }
    return {
      ...queue,
      ...lately,
      queue,
      stats: { queue: found.name, ...counts, ...lately },
      computed_at: timeText(now),
    }
  })

  const pausing = (verb: 'pause' | 'resume'): void => {
    app.post<ByName>(`/ojs/v1/queues/:name/${verb}`, async (request) => {
      const { name } = request.params
      await pauseQueue(engine, { name, paused: verb === 'pause', caller: request.caller })
      const queue = { name, paused: verb === 'pause', status: verb === 'pause' ? 'paused' : 'active' }
      return { ...queue, queue, [`${verb}d_at`]: timeText(await engine.queries.now()) }
    })
  }
  pausing('pause')
  pausing('resume')
}

async function pauseQueue(
  engine: EngineApi,
  p: { readonly name: string; readonly paused: boolean; readonly caller: Caller },
): Promise<void> {
  checkName(p.name)
  await engine.pauseQueue({ queue: p.name, paused: p.paused, actor: actorOf(p.caller) })
}

async function statsOf(engine: EngineApi, name: string): Promise<QueueStats> {
  checkName(name)
  const [found] = await engine.queueStats({ queue: name, minutes: MINUTES })
  return found ?? { ...EMPTY, name }
}

function checkName(name: string): void {
  if (isQueueName(name)) return
  throw new RequestError('invalid_request', `'${name}' is no name of a queue`, {
    details: { field: 'name' },
    hint: 'A to z in lower case, digits, dots and hyphens, a letter or digit first, at most 128 characters.',
  })
}

const EMPTY: Omit<QueueStats, 'name'> = {
  paused: false,
  available: 0,
  scheduled: 0,
  retryable: 0,
  held: 0,
  active: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  retried: 0,
  minutes: [],
}

function queueWire(queue: QueueStats) {
  return { name: queue.name, status: queue.paused ? 'paused' : 'active', paused: queue.paused }
}

function countsWire(queue: QueueStats) {
  return {
    depth: queue.available,
    available: queue.available,
    active: queue.active,
    scheduled: queue.scheduled,
    retryable: queue.retryable,
    pending: queue.held,
    completed: queue.succeeded,
    discarded: queue.failed,
    cancelled: queue.cancelled,
  }
}

function lastHourWire(queue: QueueStats) {
  const sum = (of: 'succeeded' | 'failed' | 'retried'): number => queue.minutes.reduce((n, minute) => n + minute[of], 0)
  const completed = sum('succeeded')
  return {
    completed_last_hour: completed,
    failed_last_hour: sum('failed'),
    retried_last_hour: sum('retried'),
    throughput_per_second: Math.round((completed / (MINUTES * 60)) * 1000) / 1000,
  }
}
