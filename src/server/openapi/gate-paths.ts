/** /v1/gates and the links to decide by. */
import type { Operation, Paths } from './operation.ts'
import { anything, flag, list, nullable, object, ref, type Schema, text, time, uuid, whole, word } from './schema.ts'

const BODY = {
  schema: object({
    answer: anything('What the gate gives as its result; must fit its form.'),
    reason: text('Kept with the vote.'),
  }),
  optional: true,
  example: { answer: { amount: 120 }, reason: 'within the budget' },
}

function deciding(summary: string): Operation {
  return {
    tag: 'Gates',
    summary,
    description:
      'One vote, by the subject of the API key, with its roles. The gate is decided when its quorum is reached, or cannot ' +
      'be reached any more. Refused without any change: 403 the wrong person, 409 a second vote, a decided gate or one ' +
      'past its deadline, 400 an answer that does not fit the form.',
    body: BODY,
    answers: { '200': { description: 'The vote counts.', schema: ref('GateDecided') } },
    errors: ['not_found', 'conflict', 'invalid_request', 'permission_denied'],
  }
}

export const GATE_PATHS: Paths = {
  '/v1/gates': {
    get: {
      tag: 'Gates',
      summary: 'List gates',
      query: [
        { name: 'state', description: 'Only in these states: open, approved, rejected, closed.' },
        { name: 'instance', description: 'Only of this instance.', schema: uuid() },
        {
          name: 'limit',
          description: 'On a page.',
          schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }),
        },
        { name: 'before', description: '`next_before` of the page before.' },
      ],
      answers: { '200': { description: 'Newest first.', schema: ref('GateList') } },
      errors: ['invalid_request'],
    },
  },
  '/v1/gates/{id}': {
    get: {
      tag: 'Gates',
      summary: 'Look at a gate',
      answers: {
        '200': {
          description: 'With its votes, who is still missing and its deadline.',
          schema: object({ gate: ref('GateView') }),
        },
      },
      errors: ['not_found'],
    },
  },
  '/v1/gates/{id}/approve': { post: deciding('Vote for a gate') },
  '/v1/gates/{id}/reject': { post: deciding('Vote against a gate') },
  '/v1/gates/{id}/links': {
    post: {
      tag: 'Gates',
      summary: 'Make a link by which one person decides',
      description: 'Whoever has the link votes as its subject, once, until it expires. Told in the history.',
      body: {
        schema: object(
          {
            subject: text('Who decides with it.'),
            roles: list(text(), 'Roles of the subject.'),
            expires_in_seconds: whole('Default a week.', { minimum: 1, maximum: 31_622_400 }),
          },
          { required: ['subject'] },
        ),
        example: { subject: 'ann', roles: ['finance'], expires_in_seconds: 86_400 },
      },
      answers: { '201': { description: 'The link.', schema: ref('GateLinkMade') } },
      errors: ['not_found', 'conflict'],
    },
  },
  '/gates/decide/{token}': {
    get: {
      tag: 'Gates',
      summary: 'What a link is for',
      description: 'A page for browsers (`Accept: text/html`), else JSON. Changes nothing.',
      scope: 'none',
      answers: {
        '200': { description: 'The page.', schema: text(), type: 'text/html' },
      },
      errors: ['permission_denied', 'not_found'],
    },
    post: {
      tag: 'Gates',
      summary: 'Decide by a link',
      description: 'What the form of the page sends, or JSON. A browser is sent back to the page.',
      scope: 'none',
      body: {
        schema: object(
          { decision: word(['approve', 'reject']), answer: anything('As its form asks.'), reason: text() },
          { required: ['decision'] },
        ),
        example: { decision: 'approve', reason: 'fine' },
      },
      answers: { '200': { description: 'The vote counts.', schema: ref('GateDecided') } },
      errors: ['permission_denied', 'not_found', 'conflict'],
    },
  },
}

const VOTES = list(ref('GateVote'), 'Oldest first.')
const OMITTED = object({
  $omitted: object({ bytes: whole(), href: text('Where the value is shown whole.') }),
})

const GATE: { readonly [name: string]: Schema } = {
  id: uuid(),
  instance_id: uuid(),
  node: text(),
  state: word(['open', 'approved', 'rejected', 'closed']),
  options: anything('As the definition gave them.'),
  args: anything('What it is about.'),
  due_at: nullable(time('When it is decided without a vote.')),
  on_timeout: word(['approve', 'reject']),
  answer: anything('Of the approval that decided.'),
  answered_by: nullable(text()),
  reason: nullable(text()),
  votes: { oneOf: [VOTES, OMITTED] },
  escalated: whole('Stages of its escalation that have begun.'),
  escalates_at: nullable(time('When the next begins.')),
  created_at: time(),
  answered_at: nullable(time()),
}

export const GATE_SCHEMAS: { readonly [name: string]: Schema } = {
  Gate: object(GATE),
  GateVote: object({
    by: nullable(text()),
    roles: list(text()),
    at: time(),
    approved: flag(),
    answer: anything('null: none.'),
    reason: nullable(text()),
    link: nullable(uuid('The link it came by.')),
  }),
  GateList: object({ gates: list(ref('Gate')), next_before: nullable(uuid()) }),
  GateView: object({
    ...GATE,
    votes: VOTES,
    title: nullable(text()),
    description: nullable(text()),
    form: anything('JSON Schema of the answer; null: none.'),
    instance: object({ id: uuid(), name: text(), state: text(), root_id: uuid() }),
    standing: object({
      quorum: whole('Approvals needed.'),
      seats: whole('Votes there can be.'),
      approvals: whole(),
      rejections: whole(),
      missing: nullable(
        object({
          approvals: whole('Still needed.'),
          names: nullable(list(text(), 'Of those named, who has not voted.')),
          roles: nullable(list(text(), 'Any of these lets vote.')),
        }),
      ),
      excluded: list(text(), 'They began it and may not decide.'),
    }),
  }),
  GateDecided: object({ gate: ref('GateView'), instance: ref('Instance') }),
  GateLinkMade: object({
    url: text('On the host that was asked.'),
    path: text('Behind any other address of this server.'),
    link: uuid('Its id: in the history, and in the vote.'),
    expires_at: time(),
  }),
}
