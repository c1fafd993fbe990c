/**
 * /ojs/v1/admin/queues: list, look, pause, resume, configure; /queues/:name/priority-stats. A queue is there as soon as
 * somebody names it.
 */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../../../engine/api.ts'
import { bodyObject } from '../../../../http/body.ts'
import { onlyKnown, type Query } from '../../../../http/query.ts'
import { RequestError } from '../../../../http/request-error.ts'
import type { QueueStats } from '../../../../model/queries/overview.ts'
import { actorOf } from '../../../../operations/caller.ts'
import { type Body, refuseMistakes } from '../../../../wire/mistaken.ts'
import { BodyNotes } from '../../../source/reader.ts'
import { isQueueName } from '../../compile/names.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { PAGE_PARAMS, pageWire, readPage } from '../paging.ts'
import { countsOf, throughputOf } from './admin-stats.ts'
import { boundsOf } from './backpressure.ts'
import { applyConfig, configWire, readConfig } from './queue-config.ts'

type ByName = { Params: { readonly name: string } }

const MINUTES = 6

export function adminQueueRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  const bounds = boundsOf(engine)
  pauseRoute(app, engine, 'pause')
  pauseRoute(app, engine, 'resume')

  app.get('/ojs/v1/admin/queues', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const [found, now] = await Promise.all([engine.queueStats({ queue: null, minutes: MINUTES }), engine.queries.now()])
    const all = [...found].sort((a, b) => (a.name < b.name ? -1 : 1))
    const rest = (after === null ? all : all.filter(({ name }) => name > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const last = shown.at(-1)?.name ?? null
    return {
      items: shown.map((queue) => queueWire(queue, now)),
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last }),
    }
  })

  const configuration = async (name: string): Promise<object> => {
    const [config, limits] = await Promise.all([bounds.configOf(name), engine.queries.limits()])
    return configWire(
      config,
      limits.find((limit) => limit.key === `queue:${name}`),
    )
  }

  app.get<ByName>('/ojs/v1/admin/queues/:name', async (request) => {
    const { name } = request.params
    checkName(name)
    const [[found], now] = await Promise.all([
      engine.queueStats({ queue: name, minutes: MINUTES }),
      engine.queries.now(),
    ])
    const config = await configuration(name)
    return { ...queueWire(found as QueueStats, now), configuration: config }
  })

  app.get<ByName>('/ojs/v1/admin/queues/:name/config', async (request) => {
    checkName(request.params.name)
    return { name: request.params.name, configuration: await configuration(request.params.name) }
  })

  app.put<ByName>('/ojs/v1/admin/queues/:name/config', async (request) => {
    const { name } = request.params
    checkName(name)
    const notes = new BodyNotes()
    const body = bodyObject(request, { empty: 'refused' })
    const asked = readConfig(notes.root(body))
    refuseMistakes(notes)
    refuseRetention(body)
    await applyConfig(engine, { queue: name, asked, actor: actorOf(request.caller) })
    bounds.forget()
    return { name, configuration: await configuration(name) }
  })

  app.get<ByName>('/ojs/v1/queues/:name/priority-stats', async (request) => {
    const { name } = request.params
    checkName(name)
    const rows = await engine.queries.overview.priorities({ queue: name })
    return { queue: name, distribution: rows.map(({ priority, count }) => ({ priority: 100 - priority, count })) }
  })
}

function pauseRoute(app: FastifyInstance, engine: EngineApi, verb: 'pause' | 'resume'): void {
  const paused = verb === 'pause'
  app.post<ByName>(`/ojs/v1/admin/queues/:name/${verb}`, async (request) => {
    const { name } = request.params
    checkName(name)
    await engine.pauseQueue({ queue: name, paused, actor: actorOf(request.caller) })
    const at = timeText(await engine.queries.now())
    return { name, paused, state: paused ? 'paused' : 'active', [`${verb}d_at`]: at }
  })
}

function checkName(name: string): void {
  if (!isQueueName(name))
    throw new RequestError('invalid_request', `'${name}' is no name of a queue`, { details: { field: 'name' } })
}

/** Trees of workflows span queues and go as a whole, so there is one retention for the store. */
function refuseRetention({ retention = null }: Body): void {
  if (retention === null) return
  throw new RequestError('unsupported', 'a queue has no retention of its own: one counts for the whole store', {
    details: { field: 'retention' },
    hint: 'Leave retention out; nothing of this configuration was applied. How long ended jobs are kept is an option of the engine.',
  })
}

function queueWire(queue: QueueStats, now: number): object {
  return {
    name: queue.name,
    state: queue.paused ? 'paused' : 'active',
    paused: queue.paused,
    counts: countsOf([queue]),
    throughput: throughputOf([queue], now),
  }
}
