/** /ojs/v1/queues: list, look, statistics, pause and resume. */

import { countByPriority, listQueues, pauseQueue, showQueue } from '../../../../operations/queues/queues.ts'
import { list, object, text, whole } from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { PAGE, pageAsked, pageByName } from '../paging.ts'
import { queueName } from './queue-name.ts'
import { HOUR_MINUTES, QueueList, QueueReply, QueueStatsReply, queueStatsWire, queueWire } from './queue-wire.ts'

export const QUEUE_ROUTES = [
  route(
    'GET /ojs/v1/queues',
    {
      tag: 'Queues',
      summary: 'List queues',
      does: listQueues,
      query: PAGE,
      answers: { '200': { description: 'By name.', schema: QueueList } },
    },
    async ({ query, perform }) => {
      const { queues } = await perform(listQueues, { minutes: 0 })
      const { shown, pagination } = pageByName(queues, pageAsked(query), ({ name }) => name)
      return { queues: shown.map(queueWire), pagination }
    },
  ),

  route(
    'GET /ojs/v1/queues/:name',
    {
      tag: 'Queues',
      summary: 'Get a queue',
      description: 'A queue exists as soon as a job or a request names it.',
      does: showQueue,
      otherQuery: 'ignored',
      answers: { '200': { description: 'The queue.', schema: QueueReply } },
    },
    async ({ params, perform }) => {
      const found = await perform(showQueue, { name: queueName(params.name), minutes: 0 })
      const queue = queueWire(found.queue)
      return { queue, ...queue }
    },
  ),

  route(
    'GET /ojs/v1/queues/:name/stats',
    {
      tag: 'Queues',
      summary: 'Get the counts of waiting, active and ended jobs of a queue',
      does: showQueue,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Counts by state, and of the last hour.', schema: QueueStatsReply } },
    },
    async ({ params, perform }) => {
      const { queue, now } = await perform(showQueue, { name: queueName(params.name), minutes: HOUR_MINUTES })
      return queueStatsWire(queue, timeText(now))
    },
  ),

  route(
    'GET /ojs/v1/queues/:name/priority-stats',
    {
      tag: 'Queues',
      summary: 'Count waiting jobs by priority',
      does: countByPriority,
      otherQuery: 'ignored',
      answers: {
        '200': {
          description: 'Most urgent first.',
          schema: object({ queue: text(), distribution: list(object({ priority: whole(), count: whole() })) }),
        },
      },
    },
    async ({ params, perform }) => {
      const name = queueName(params.name)
      const rows = await perform(countByPriority, { name })
      return { queue: name, distribution: rows.map(({ priority, count }) => ({ priority: 100 - priority, count })) }
    },
  ),

  ...(
    [
      ['pause', 'Pause a queue'],
      ['resume', 'Resume a queue'],
    ] as const
  ).map(([verb, summary]) =>
    route(
      `POST /ojs/v1/queues/:name/${verb}`,
      {
        tag: 'Queues',
        summary,
        does: pauseQueue,
        answers: { '200': { description: `It is ${verb}d.`, schema: QueueReply } },
      },
      async ({ params, perform }) => {
        const name = queueName(params.name)
        const paused = verb === 'pause'
        const { now } = await perform(pauseQueue, { name, paused })
        const queue = queueWire({ name, paused })
        return { ...queue, queue, ...(paused ? { paused_at: timeText(now) } : { resumed_at: timeText(now) }) }
      },
    ),
  ),
]
