/** Ended instances are retried or forked; what waits for a time begins at once. */
import { forkInstance, previewRepeat, retryInstance, retryInstanceNow } from '../../operations/instances/repeat.ts'
import type { Perform } from '../../operations/operation.ts'
import { Instance, instanceWire } from '../../wire/instance.ts'
import {
  ForkRequest,
  previewWire,
  RepeatPreview,
  RetryReply,
  RetryRequest,
  repeatAsked,
  repeatedWire,
} from '../../wire/requests/repeat.ts'
import { named, object, oneOf, type Value, whole } from '../../wire/schema.ts'
import { route } from '../context.ts'
import { refusing } from './problem.ts'

const MADE = { description: 'The new instance.', schema: RetryReply, headers: ['Location'] }
const KNOWN = {
  description: 'The key had already started it; or, with `dry_run`, what would be done again and what carried over.',
  schema: oneOf([RetryReply, RepeatPreview]),
}

const NowReply = named('RetryNowReply', object({ count: whole('Runs that are due now.'), instance: Instance }))

type Body = Value<typeof RetryRequest>

/** null: the instance is to be created. */
async function previewed(
  perform: Perform,
  id: string,
  body: Body,
  fork: boolean,
): Promise<Value<typeof RepeatPreview> | null> {
  if (body.dry_run !== true) return null
  const page = {
    ...(body.after == null ? {} : { after: body.after }),
    ...(body.limit == null ? {} : { limit: body.limit }),
  }
  const asked = { ...repeatAsked(id, body), fork, ...page }
  return previewWire(await refusing(fork ? 'fork' : 'retry', id, perform(previewRepeat, asked)))
}

export const REPEAT_ROUTES = [
  route(
    'POST /v1/instances/:id/retry',
    {
      tag: 'Instances',
      summary: 'Retry an instance',
      does: retryInstance,
      description:
        'Starts a new instance that carries over the results of succeeded steps and begins at the others, or goes back ' +
        'to the place `from`. The old one does not change.',
      body: {
        schema: RetryRequest,
        optional: true,
        example: { from: { step: 'charge', firing: 2 }, args_patch: { input: { amount: 20 } } },
      },
      answers: { '200': KNOWN, '201': MADE },
      errors: ['not_found', 'conflict', 'schema_validation'],
    },
    async ({ params: { id }, body, perform, reply }) => {
      const preview = await previewed(perform, id, body, false)
      if (preview !== null) return preview
      const asked = { ...repeatAsked(id, body), ...(body.start_key == null ? {} : { startKey: body.start_key }) }
      const made = await refusing('retry', id, perform(retryInstance, asked))
      reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
      return repeatedWire(made)
    },
  ),

  route(
    'POST /v1/instances/:id/fork',
    {
      tag: 'Instances',
      summary: 'Fork an instance',
      does: forkInstance,
      description:
        'Starts a copy of an ended instance, completed or not: from the beginning, or from the place `from`. The old one ' +
        'keeps what it did: the copy never undoes it.',
      body: { schema: ForkRequest, optional: true, example: { from: { step: 'render' } } },
      answers: { '200': KNOWN, '201': MADE },
      errors: ['not_found', 'conflict', 'schema_validation'],
    },
    async ({ params: { id }, body, perform, reply }) => {
      const preview = await previewed(perform, id, body, true)
      if (preview !== null) return preview
      const asked = { ...repeatAsked(id, body), ...(body.start_key == null ? {} : { startKey: body.start_key }) }
      const made = await refusing('fork', id, perform(forkInstance, asked))
      reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
      return repeatedWire(made)
    },
  ),

  route(
    'POST /v1/instances/:id/retry-now',
    {
      tag: 'Instances',
      summary: 'Cut the waits of an instance short',
      does: retryInstanceNow,
      description:
        'Its runs that are due later, or wait between two attempts, are due at once; so are those of what is nested in ' +
        'it. Their attempts stay as they are.',
      nothing: 'a retry now',
      answers: { '200': { description: 'How many there were.', schema: NowReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform }) => {
      const { count, row } = await refusing('retry now', id, perform(retryInstanceNow, { id }))
      return { count, instance: instanceWire(row) }
    },
  ),
]
