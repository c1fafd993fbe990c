/** Changes to an instance: start one of a definition or an idle one, cancel, retry, patch the context. */
import type { Json } from '../../net/net.ts'
import {
  cancelInstance,
  patchContext,
  retryInstance,
  startDefinition,
  startInstance,
} from '../../operations/instances/change.ts'
import { Context, contextWire } from '../../wire/given.ts'
import { Instance, InstanceReply, instanceWire } from '../../wire/instance.ts'
import { ContextRequest } from '../../wire/requests/context.ts'
import { key } from '../../wire/requests/fields.ts'
import { MADE, StartReply, StartRequest, startAsked, startedWire } from '../../wire/requests/start.ts'
import { OpenEffect, openEffectWire } from '../../wire/saga.ts'
import { anything, asked, list, named, object, optional, uuid } from '../../wire/schema.ts'
import { route } from '../context.ts'
import { refusing } from './problem.ts'

const AS_IT_IS = { description: 'As it is now.', schema: InstanceReply }

const RetryRequest = asked('a retry', {
  input: optional(anything('Instead of the input of the old one. Left out: the same.')),
  start_key: optional(key('Sent again under the same key, it is answered with the same retry.')),
})

const RetryReply = named(
  'RetryReply',
  object({ ...MADE, retry_of: uuid(), not_undone: optional(list(OpenEffect)), instance: Instance }),
)

const ContextReply = named('ContextReply', object({ instance: Instance, context: Context }))

export const CHANGE_ROUTES = [
  route(
    'POST /v1/instances',
    {
      tag: 'Instances',
      summary: 'Start a deployed definition',
      does: startDefinition,
      description:
        'Written when this is answered. Its initiator is the subject of the key. A start key that is taken answers with the ' +
        'instance that has it, and 200.',
      body: {
        schema: StartRequest,
        example: { workflow: 'order', input: { order: 17 }, start_key: 'order:17' },
      },
      answers: {
        '201': { description: 'It has begun, or waits.', schema: StartReply, headers: ['Location'] },
        '200': { description: 'The key was taken.', schema: StartReply, headers: ['Location'] },
      },
      errors: ['not_found', 'conflict'],
    },
    async ({ body, perform, reply }) => {
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
      description:
        'It begins at once, or waits (`queued`) until its workflow has a free slot. Its deadline runs from now.',
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
        'What has not begun never will; what is being worked on may end and is recorded. An instance that is undoing its ' +
        'work is not cancelled: it is never left half undone.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform }) => ({
      instance: instanceWire(await refusing('cancel', id, perform(cancelInstance, { id }))),
    }),
  ),

  route(
    'POST /v1/instances/:id/retry',
    {
      tag: 'Instances',
      summary: 'Try an instance again',
      does: retryInstance,
      description:
        'Starts a new instance that takes over the results of what had succeeded and begins at what had not. The old one ' +
        'stays as it is.',
      body: {
        schema: RetryRequest,
        optional: true,
        example: { input: { order: 17, address: 'Bahnhofstrasse 1' } },
      },
      answers: {
        '200': { description: 'The key had started it before.', schema: RetryReply, headers: ['Location'] },
        '201': { description: 'The new one.', schema: RetryReply, headers: ['Location'] },
      },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, body: { input, start_key: startKey }, perform, reply }) => {
      const asked = {
        id,
        ...(input === undefined ? {} : { input: input as Json }),
        ...(startKey == null ? {} : { startKey }),
      }
      const made = await refusing('retry', id, perform(retryInstance, asked))
      reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
      const left = made.open.length === 0 ? {} : { not_undone: made.open.map(openEffectWire) }
      return { id: made.id, created: made.created, retry_of: made.of, ...left, instance: instanceWire(made.row) }
    },
  ),

  route(
    'PATCH /v1/instances/:id/context',
    {
      tag: 'Instances',
      summary: 'Write into the context of an instance',
      does: patchContext,
      description: 'Steps that were held back are looked at again. What is not named stays; null removes a name.',
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
