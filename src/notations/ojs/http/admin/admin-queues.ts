/** /ojs/v1/admin/queues: list, look, pause, resume, configure. */
import { configureQueue, showQueueConfig } from '../../../../operations/queues/config.ts'
import { listQueues, pauseQueue, showQueue } from '../../../../operations/queues/queues.ts'
import { flag, list, object, optional, text, time, word } from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { PAGE, Pagination, pageAsked, pageByName } from '../paging.ts'
import { configAsked, configWire, QueueConfig, QueueSettings } from './queue-config.ts'
import { queueName } from './queue-name.ts'
import { AdminQueue, adminQueueWire, ConfiguredQueue, RECENT_MINUTES } from './queue-wire.ts'

const AS_SET = { '200': { description: 'As set.', schema: QueueConfig } }

const QueuePaused = object({
  name: text(),
  paused: flag(),
  state: word(['active', 'paused']),
  paused_at: optional(time()),
  resumed_at: optional(time()),
})

export const ADMIN_QUEUE_ROUTES = [
  route(
    'GET /ojs/v1/admin/queues',
    {
      tag: 'Administration',
      summary: 'List queues with counts',
      does: listQueues,
      query: PAGE,
      answers: {
        '200': { description: 'By name.', schema: object({ items: list(AdminQueue), pagination: Pagination }) },
      },
    },
    async ({ query, perform }) => {
      const { queues, now } = await perform(listQueues, { minutes: RECENT_MINUTES })
      const { shown, pagination } = pageByName(queues, pageAsked(query), ({ name }) => name)
      return { items: shown.map((queue) => adminQueueWire(queue, now)), pagination }
    },
  ),

  route(
    'GET /ojs/v1/admin/queues/:name',
    {
      tag: 'Administration',
      summary: 'Get a queue and its configuration',
      does: showQueue,
      otherQuery: 'ignored',
      answers: { '200': { description: 'The queue.', schema: ConfiguredQueue } },
    },
    async ({ params, perform }) => {
      const name = queueName(params.name)
      const { queue, now } = await perform(showQueue, { name, minutes: RECENT_MINUTES })
      return { ...adminQueueWire(queue, now), configuration: configWire(await perform(showQueueConfig, { name })) }
    },
  ),

  route(
    'GET /ojs/v1/admin/queues/:name/config',
    {
      tag: 'Administration',
      summary: 'Read the configuration of a queue',
      does: showQueueConfig,
      otherQuery: 'ignored',
      answers: AS_SET,
    },
    async ({ params, perform }) => {
      const name = queueName(params.name)
      return { name, configuration: configWire(await perform(showQueueConfig, { name })) }
    },
  ),

  route(
    'PUT /ojs/v1/admin/queues/:name/config',
    {
      tag: 'Administration',
      summary: 'Configure a queue',
      description:
        'A named setting replaces the previous one, null removes it, and the others keep their values. A queue at its `max_depth` ' +
        'refuses jobs with 429 QUEUE_FULL; exact on one server, with several up to what the others admitted within a ' +
        'quarter of a second. Jobs of workflows and cron are never refused. A `retention` is refused with 422: one ' +
        'applies to the whole store.',
      does: configureQueue,
      body: {
        schema: QueueSettings,
        example: { backpressure: { max_depth: 50_000, strategy: 'reject', warning_threshold: 0.8 } },
      },
      answers: AS_SET,
      errors: ['unsupported'],
    },
    async ({ params, body, perform }) => {
      const name = queueName(params.name)
      return { name, configuration: configWire(await perform(configureQueue, { name, ...configAsked(body) })) }
    },
  ),

  ...(['pause', 'resume'] as const).map((verb) =>
    route(
      `POST /ojs/v1/admin/queues/:name/${verb}`,
      {
        tag: 'Administration',
        summary: verb === 'pause' ? 'Pause a queue' : 'Resume a queue',
        does: pauseQueue,
        answers: { '200': { description: `It is ${verb}d.`, schema: QueuePaused } },
      },
      async ({ params, perform }) => {
        const name = queueName(params.name)
        const paused = verb === 'pause'
        const { now } = await perform(pauseQueue, { name, paused })
        const state = paused ? ('paused' as const) : ('active' as const)
        return { name, paused, state, ...(paused ? { paused_at: timeText(now) } : { resumed_at: timeText(now) }) }
      },
    ),
  ),
]
