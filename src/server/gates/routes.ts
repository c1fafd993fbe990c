/** /v1/gates: lists, the state of one, votes, and links to vote by. */

import { readId } from '../../kernel/ids.ts'
import { listGates, makeGateLink, showGate, type Voted, voteOnGate } from '../../operations/gates/gates.ts'
import { LONGEST_LINK_SECONDS } from '../../operations/gates/link.ts'
import { GATE_STATES, GateDetail, GateList, gateViewWire, gateWire } from '../../wire/gate.ts'
import { Instance, instanceWire } from '../../wire/instance.ts'
import { answerOf, DECISION } from '../../wire/requests/decision.ts'
import { name } from '../../wire/requests/fields.ts'
import { type Param, pageSize, parsed, wordsOf } from '../../wire/requests/params.ts'
import { asked, list, named, object, optional, text, time, uuid, type Value, whole } from '../../wire/schema.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'

const DEFAULT_LINK_SECONDS = 7 * 86_400

/** Both, since the voter wants to see the effect on the workflow. */
export const GateDecided = named('GateDecided', object({ gate: GateDetail, instance: Instance }))

const VOTING = {
  tag: 'Gates',
  does: voteOnGate,
  description:
    'One vote, by the subject of the API key, with its roles. The gate is decided when its quorum is reached, or cannot ' +
    'be reached any more. Refused without any change: 403 the wrong person, 409 a second vote, a decided gate or one ' +
    'past its deadline, 400 an answer that does not fit the form.',
  body: {
    schema: asked('a decision', DECISION),
    optional: true,
    example: { answer: { amount: 120 }, reason: 'within the budget' },
  },
  answers: { '200': { description: 'The vote counts.', schema: GateDecided } },
  errors: ['not_found', 'conflict', 'invalid_request', 'permission_denied'],
} as const

const LinkRequest = asked('a link', {
  subject: name({ description: 'The subject who decides with it.', hint: 'the name of the person who decides' }),
  roles: optional(list(text({ minLength: 1 }), 'Roles of the subject.')),
  expires_in_seconds: optional(whole({ description: 'Default: one week.', minimum: 1, maximum: LONGEST_LINK_SECONDS })),
})

const GateLinkMade = named(
  'GateLinkMade',
  object({
    url: text('On the host of the request.'),
    path: text('Behind any other address of this server.'),
    link: uuid('Its id: in the history, and in the vote.'),
    expires_at: time(),
  }),
)

export const GATE_ROUTES = [
  route(
    'GET /v1/gates',
    {
      tag: 'Gates',
      summary: 'List gates',
      does: listGates,
      query: {
        state: wordsOf(GATE_STATES, 'Only in these states.'),
        instance: gateId('Only of this instance.'),
        limit: pageSize(),
        before: gateId('`next_before` of the previous page.'),
      },
      answers: { '200': { description: 'Newest first.', schema: GateList } },
      errors: ['invalid_request'],
    },
    async ({ query: { state: states, instance: instanceId, limit, before }, perform }, { faults }) => {
      const { rows, more } = await perform(listGates, { states, instanceId, limit, before })
      return { gates: wireEach(faults, rows, gateWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
    },
  ),

  route(
    'GET /v1/gates/:id',
    {
      tag: 'Gates',
      summary: 'Get a gate',
      does: showGate,
      answers: {
        '200': {
          description: 'With its votes, who is still missing and its deadline.',
          schema: object({ gate: GateDetail }),
        },
      },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ gate: gateViewWire(await perform(showGate, params)) }),
  ),

  route('POST /v1/gates/:id/approve', { summary: 'Vote for a gate', ...VOTING }, async ({ params, body, perform }) =>
    votedWire(await perform(voteOnGate, { ...params, approved: true, ...answerOf(body) })),
  ),

  route('POST /v1/gates/:id/reject', { summary: 'Vote against a gate', ...VOTING }, async ({ params, body, perform }) =>
    votedWire(await perform(voteOnGate, { ...params, approved: false, ...answerOf(body) })),
  ),

  route(
    'POST /v1/gates/:id/links',
    {
      tag: 'Gates',
      summary: 'Create a link by which one person decides',
      does: makeGateLink,
      description: 'The holder of the link votes as its subject, once, until it expires. Recorded in the history.',
      body: { schema: LinkRequest, example: { subject: 'ann', roles: ['finance'], expires_in_seconds: 86_400 } },
      answers: { '201': { description: 'The link.', schema: GateLinkMade } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, body, perform, request, reply }) => {
      const made = await perform(makeGateLink, {
        ...params,
        subject: body.subject,
        roles: body.roles ?? [],
        expiresInSeconds: body.expires_in_seconds ?? DEFAULT_LINK_SECONDS,
      })
      reply.code(201)
      const url = `${request.protocol}://${request.host}${made.path}`
      return { url, path: made.path, link: made.id, expires_at: new Date(made.expiresAt).toISOString() }
    },
  ),
]

export function votedWire({ view, instance }: Voted): Value<typeof GateDecided> {
  return { gate: gateViewWire(view), instance: instanceWire(instance) }
}

function gateId(description: string): Param<string | null> {
  return parsed(description, uuid(), readId, 'an id')
}
