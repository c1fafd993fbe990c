/** /v1/queues: what waits in a queue and passes through it. */
import { reportQueue } from '../../operations/queues/queues.ts'
import { QueueReportReply, queueReportWire } from '../../wire/operate/queue.ts'
import { wholeOf } from '../../wire/requests/params.ts'
import { route } from '../context.ts'

export const QUEUE_ROUTES = [
  route(
    'GET /v1/queues/:name/stats',
    {
      tag: 'Queues',
      summary: 'Depth, age, waiting times, rates and utilisation of a queue',
      does: reportQueue,
      description:
        'Costs the same however long the queue is. A queue exists as soon as a run names it. All tenants share them.',
      query: {
        minutes: wholeOf(
          { least: 1, most: 60, fallback: 5 },
          'Rates and waiting times are of this many minutes, with the current one.',
        ),
      },
      answers: { '200': { description: 'Of now.', schema: QueueReportReply } },
      errors: ['invalid_request'],
    },
    async ({ params: { name }, query: { minutes }, perform }) =>
      queueReportWire(await perform(reportQueue, { name, minutes, counted: false })),
  ),
]
