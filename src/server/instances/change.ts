/** What people do to an instance: start an idle one, cancel, retry, patch its context. */

import type { Body } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { checked } from '../../http/describe/route.ts'
import { MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import type { Json } from '../../net/net.ts'
import { cancelInstance } from '../../operations/cancel.ts'
import { openEffects } from '../../operations/saga-view.ts'
import { Instance, InstanceReply, instanceWire } from '../../wire/instance.ts'
import { OpenEffect, openEffectWire } from '../../wire/saga.ts'
import { anything, asked, entries, list, named, object, optional, storable, uuid } from '../../wire/schema.ts'
import { route } from '../context.ts'
import { key } from '../inbox/fields.ts'
import { Context, contextWire } from './about.ts'
import { findRow } from './find.ts'
import { refusing } from './problem.ts'
import { MADE } from './start.ts'

const AS_IT_IS = { description: 'As it is now.', schema: InstanceReply }

const RetryRequest = asked('a retry', {
  input: optional(anything('Instead of the input of the old one. Left out: the same.')),
  start_key: optional(key('Sent again under the same key, it is answered with the same retry.')),
})

const RetryReply = named(
  'RetryReply',
  object({ ...MADE, retry_of: uuid(), not_undone: optional(list(OpenEffect)), instance: Instance }),
)

const ENTRY_HINT = '{ "set": { "approved": true } }'

const ContextRequest = asked('a patch', {
  set: entries(anything(), {
    description: 'Values by name.',
    minProperties: 1,
    hint: `what to write, by name: ${ENTRY_HINT}`,
    nameProblem: (name) =>
      name !== '' && name.length <= MAX_TYPE_LENGTH && storable(name)
        ? null
        : `a name in the context has 1 to ${MAX_TYPE_LENGTH} characters, any but NUL`,
  }),
})

/** Of a body that has not been checked. */
export function readContext(body: Body): { readonly [name: string]: Json } {
  return checked(ContextRequest, body).set as { readonly [name: string]: Json }
}

const ContextReply = named('ContextReply', object({ instance: Instance, context: Context }))

export const CHANGE_ROUTES = [
  route(
    'POST /v1/instances/:id/start',
    {
      tag: 'Instances',
      summary: 'Start an idle instance',
      description:
        'It begins at once, or waits (`queued`) until its workflow has a free slot. Its deadline runs from now.',
      nothing: 'a start',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, caller }, { engine }) => {
      const { id } = await findRow(engine, params.id, caller)
      const row = await refusing('start', id, engine.startInstance({ id, actor: actorOf(caller) }))
      return { instance: instanceWire(row) }
    },
  ),

  route(
    'POST /v1/instances/:id/cancel',
    {
      tag: 'Instances',
      summary: 'Cancel an instance',
      description:
        'What has not begun never will; what is being worked on may end and is recorded. An instance that is undoing its ' +
        'work is not cancelled: it is never left half undone.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, caller }, { engine }) => {
      const { id } = await findRow(engine, params.id, caller)
      const row = await refusing('cancel', id, cancelInstance(engine, { id, actor: actorOf(caller) }))
      return { instance: instanceWire(row) }
    },
  ),

  route(
    'POST /v1/instances/:id/retry',
    {
      tag: 'Instances',
      summary: 'Try an instance again',
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
    async ({ params, body: { input, start_key: startKey }, caller, reply }, { engine }) => {
      const { id } = await findRow(engine, params.id, caller)
      const asked = {
        ...(input === undefined ? {} : { input: input as Json }),
        ...(startKey == null ? {} : { startKey }),
      }
      const open = await openEffects(engine, id)
      const made = await refusing('retry', id, engine.retryInstance({ id, actor: actorOf(caller), ...asked }))
      reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
      const row = await findRow(engine, made.id, caller)
      const left = open.length === 0 ? {} : { not_undone: open.map(openEffectWire) }
      return { id: made.id, created: made.created, retry_of: id, ...left, instance: instanceWire(row) }
    },
  ),

  route(
    'PATCH /v1/instances/:id/context',
    {
      tag: 'Instances',
      summary: 'Write into the context of an instance',
      description: 'Steps that were held back are looked at again. What is not named stays; null removes a name.',
      body: { schema: ContextRequest, example: { set: { approved: true } } },
      answers: { '200': { description: 'The whole context.', schema: ContextReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, body, caller }, { engine }) => {
      const { id } = await findRow(engine, params.id, caller)
      const set = body.set as { readonly [name: string]: Json }
      const row = await refusing('patch', id, engine.patchContext({ instanceId: id, set, actor: actorOf(caller) }))
      return { instance: instanceWire(row), context: await contextWire(engine, id) }
    },
  ),
]
