/** Changes to an instance: start one of a definition or an idle one, cancel, patch the context. */
import type { Json } from '../../net/net.ts'
import { debounceStart } from '../../operations/debounced/debounced.ts'
import { cancelInstance, patchContext, startDefinition, startInstance } from '../../operations/instances/change.ts'
import { Context, contextWire } from '../../wire/given.ts'
import { Instance, InstanceReply, instanceWire } from '../../wire/instance.ts'
import { DebouncedReply, debouncedWire } from '../../wire/operate/debounced.ts'
import { ContextRequest } from '../../wire/requests/context.ts'
import { debounceAsked, StartReply, StartRequest, startAsked, startedWire } from '../../wire/requests/start.ts'
import { named, object } from '../../wire/schema.ts'
import { route } from '../context.ts'
import { refusing } from './problem.ts'

const AS_IT_IS = { description: 'Its current state.', schema: InstanceReply }

const ContextReply = named('ContextReply', object({ instance: Instance, context: Context }))

export const CHANGE_ROUTES = [
  route(
    'POST /v1/instances',
    {
      tag: 'Instances',
      summary: 'Start a deployed definition',
      does: startDefinition,
      description:
        'Stored before the reply. Its initiator is the subject of the key. With a used start key the reply is 200 with the ' +
        'instance that has it.',
      body: {
        schema: StartRequest,
        example: { workflow: 'order', input: { order: 17 }, start_key: 'order:17' },
      },
      answers: {
        '201': { description: 'It has begun, or is queued.', schema: StartReply, headers: ['Location'] },
        '200': { description: 'The key was already used.', schema: StartReply, headers: ['Location'] },
        '202': { description: 'With `debounce`: it starts when it is due.', schema: DebouncedReply },
      },
      errors: ['not_found', 'conflict'],
    },
    async ({ body, perform, reply }) => {
      const debounce = debounceAsked(body)
      if (debounce !== null) {
        const row = await perform(debounceStart, { ...startAsked(body), debounce })
        reply.code(202)
        return { debounced: debouncedWire(row) }
      }
      const made = await perform(startDefinition, startAsked(body))
      reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
      return startedWire(made)
    },
  ),

  route(
    'POST /v1/instances/:id/start',
    {
      tag: 'Instances',
      summary: 'Start an idle instance',
      does: startInstance,
      description: 'It begins at once, or is `queued` until its workflow has a free slot. Its deadline runs from now.',
      nothing: 'a start',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform }) => ({
      instance: instanceWire(await refusing('start', id, perform(startInstance, { id }))),
    }),
  ),

  route(
    'POST /v1/instances/:id/cancel',
    {
      tag: 'Instances',
      summary: 'Cancel an instance',
      does: cancelInstance,
      description:
        'Pending work never begins; active work may end and is recorded. An instance that is undoing its ' +
        'work cannot be cancelled, so that it is never left half undone.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform }) => ({
      instance: instanceWire(await refusing('cancel', id, perform(cancelInstance, { id }))),
    }),
  ),

  route(
    'PATCH /v1/instances/:id/context',
    {
      tag: 'Instances',
      summary: 'Write into the context of an instance',
      does: patchContext,
      description: 'Held tokens are evaluated again. Names that are absent keep their value; null removes one.',
      body: { schema: ContextRequest, example: { set: { approved: true } } },
      answers: { '200': { description: 'The whole context.', schema: ContextReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, body, perform }) => {
      const set = body.set as { readonly [name: string]: Json }
      const { row, context } = await refusing('patch', id, perform(patchContext, { id, set }))
      return { instance: instanceWire(row), context: contextWire(context) }
    },
  ),
]
