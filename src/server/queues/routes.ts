/** /v1/queues: what waits in a queue and passes through it. */
import { reportQueue } from '../../operations/queues/queues.ts'
import { listWeights, removeWeight, setWeight } from '../../operations/queues/weights.ts'
import { QueueReportReply, queueReportWire, WeightList, WeightReply, WeightRequest } from '../../wire/operate/queue.ts'
import { storedText, wholeOf } from '../../wire/requests/params.ts'
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

  route(
    'GET /v1/queues/:name/weights',
    {
      tag: 'Queues',
      summary: 'Weights of the keys of a queue',
      does: listWeights,
      description: 'A key that is not listed weighs 1.',
      answers: { '200': { description: 'By key.', schema: WeightList } },
    },
    async ({ params: { name }, perform }) => ({ weights: await perform(listWeights, { queue: name }) }),
  ),

  route(
    'PUT /v1/queues/:name/weights/:key',
    {
      tag: 'Queues',
      summary: 'Set how much a key of a queue weighs',
      does: setWeight,
      description: 'It gives as many runs in its turn, also of what waits already.',
      body: { schema: WeightRequest, example: { weight: 2 } },
      answers: { '200': { description: 'It is set.', schema: WeightReply } },
      errors: ['invalid_request', 'conflict'],
    },
    async ({ params: { name, key }, body: { weight, tenant }, perform }) => ({
      weight: await perform(setWeight, { queue: name, key, weight, tenant: tenant ?? null }),
    }),
  ),

  route(
    'DELETE /v1/queues/:name/weights/:key',
    {
      tag: 'Queues',
      summary: 'Remove the weight of a key of a queue',
      does: removeWeight,
      description: 'The key weighs 1 again.',
      query: { tenant: storedText('The key of this tenant.') },
      answers: { '200': { description: 'The weights that are left.', schema: WeightList } },
      errors: ['not_found'],
    },
    async ({ params: { name, key }, query: { tenant }, perform }) => {
      await perform(removeWeight, { queue: name, key, tenant: tenant ?? null })
      return { weights: await perform(listWeights, { queue: name }) }
    },
  ),
]
