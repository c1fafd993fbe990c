/** GET /v1/instances/:id/steps: the state of each node of an instance, in the order of its definition. */

import { listSteps } from '../../operations/instances/look.ts'
import { pageSize, textOf } from '../../wire/requests/params.ts'
import { list, named, nullable, object, text, uuid, whole } from '../../wire/schema.ts'
import { Step, stepWire } from '../../wire/step.ts'
import { route } from '../context.ts'

const StepList = named(
  'StepList',
  object({
    instance_id: uuid(),
    total: whole('Steps of the definition.'),
    steps: list(Step),
    next_after: nullable(text('Send it as `after`.')),
  }),
)

export const STEP_ROUTES = [
  route(
    'GET /v1/instances/:id/steps',
    {
      tag: 'Instances',
      summary: 'The state of each step',
      description: 'Of every notation, in the order of the definition.',
      does: listSteps,
      query: {
        after: textOf('`next_after` of the previous page: the name of its last step.'),
        limit: pageSize(1000, 100),
      },
      answers: { '200': { description: 'A page of steps.', schema: StepList } },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params, query, perform }) => {
      const { instance, total, steps, next } = await perform(listSteps, { ...params, ...query })
      return {
        instance_id: instance.id,
        total,
        steps: steps.map(({ step, dependsOn, worker }) => stepWire(step, dependsOn, worker)),
        next_after: next,
      }
    },
  ),
]
