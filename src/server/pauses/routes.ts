/** Pause and resume of instances, definitions and types, and GET /v1/pauses. */
import { MAX_PAUSE_REASON } from '../../model/pauses/pauses.ts'
import {
  listPauses,
  pauseDefinition,
  pauseInstance,
  pauseType,
  resumeDefinition,
  resumeInstance,
  resumeType,
} from '../../operations/pauses/pauses.ts'
import { instanceWire } from '../../wire/instance.ts'
import {
  InstancePauseReply,
  PauseList,
  PauseReply,
  pauseCursor,
  pauseWire,
  readPauseCursor,
  TIMEOUTS,
} from '../../wire/pauses/pause.ts'
import { pageSize, parsed } from '../../wire/requests/params.ts'
import { asked, nullable, optional, text, word } from '../../wire/schema.ts'
import { route } from '../context.ts'
import { refusing } from '../instances/problem.ts'

export const REASON = optional(
  nullable(
    text({
      description: 'Shown to everyone who asks why it waits.',
      minLength: 1,
      maxLength: MAX_PAUSE_REASON,
      is: `a text of 1 to ${MAX_PAUSE_REASON} characters`,
    }),
  ),
)

const PauseRequest = asked('a pause', {
  reason: REASON,
  timeouts: optional(
    word(TIMEOUTS, {
      description:
        'stop: deadlines, gates, expiries and delays between attempts stop, and continue at the resume. run: they run on.',
      default: 'stop',
    }),
  ),
})

const RulePauseRequest = asked('a pause', { reason: REASON })
const IN_FORCE = { description: 'It is paused.', schema: PauseReply }
const OVER = { description: 'The pause that has ended.', schema: PauseReply }

export const PAUSE_ROUTES = [
  route(
    'POST /v1/instances/:id/pause',
    {
      tag: 'Instances',
      summary: 'Pause an instance with everything nested in it',
      does: pauseInstance,
      description:
        'Active work ends as usual and is recorded; nothing new begins, whatever a worker asks for, until the instance is ' +
        'resumed. Gates can still be decided.',
      body: { schema: PauseRequest, optional: true, example: { reason: 'the supplier is down', timeouts: 'stop' } },
      answers: { '200': { description: 'It is paused.', schema: InstancePauseReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, body: { reason = null, timeouts }, perform }) => {
      const { row, pause } = await refusing(
        'pause',
        id,
        perform(pauseInstance, { id, reason, timeouts: timeouts ?? 'stop' }),
      )
      return { instance: instanceWire(row), pause: pauseWire(pause) }
    },
  ),

  route(
    'POST /v1/instances/:id/resume',
    {
      tag: 'Instances',
      summary: 'Resume a paused instance',
      does: resumeInstance,
      description: 'What waited is due as it was before. Stopped times continue: each moves by the length of its stop.',
      nothing: 'a resume',
      answers: { '200': { description: 'With the pause that has ended.', schema: InstancePauseReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform }) => {
      const { row, pause } = await refusing('resume', id, perform(resumeInstance, { id }))
      return { instance: instanceWire(row), pause: pauseWire(pause) }
    },
  ),

  route(
    'POST /v1/definitions/:name/pause',
    {
      tag: 'Definitions',
      summary: 'Pause a definition',
      does: pauseDefinition,
      description:
        'New instances are accepted and queued, however they are started: by a request, an event, a schedule or a retry. ' +
        'Instances that have begun continue, and so do the ones nested in them.',
      body: { schema: RulePauseRequest, optional: true, example: { reason: 'a wrong price list' } },
      answers: { '200': IN_FORCE },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { name }, body: { reason = null }, perform }) => ({
      pause: pauseWire(await perform(pauseDefinition, { name, reason })),
    }),
  ),

  route(
    'POST /v1/definitions/:name/resume',
    {
      tag: 'Definitions',
      summary: 'Resume a paused definition',
      does: resumeDefinition,
      description: 'The instances that waited begin in the order in which they were started.',
      nothing: 'a resume',
      answers: { '200': OVER },
      errors: ['conflict'],
    },
    async ({ params: { name }, perform }) => ({ pause: pauseWire(await perform(resumeDefinition, { name })) }),
  ),

  route(
    'POST /v1/registry/:name/pause',
    {
      tag: 'Registry',
      summary: 'Pause a type',
      does: pauseType,
      description:
        'No worker takes a run of the type, whether the type is registered or not. Runs that a worker holds continue; new ones wait.',
      body: { schema: RulePauseRequest, optional: true, example: { reason: 'the card service is down' } },
      answers: { '200': IN_FORCE },
      errors: ['conflict'],
    },
    async ({ params: { name }, body: { reason = null }, perform }) => ({
      pause: pauseWire(await perform(pauseType, { name, reason })),
    }),
  ),

  route(
    'POST /v1/registry/:name/resume',
    {
      tag: 'Registry',
      summary: 'Resume a paused type',
      does: resumeType,
      nothing: 'a resume',
      answers: { '200': OVER },
      errors: ['conflict'],
    },
    async ({ params: { name }, perform }) => ({ pause: pauseWire(await perform(resumeType, { name })) }),
  ),

  route(
    'GET /v1/pauses',
    {
      tag: 'Administration',
      summary: 'List what is paused',
      does: listPauses,
      description: 'Instances, definitions, types and queues.',
      query: {
        limit: pageSize(),
        before: parsed('`next_before` of the previous page.', text(), readPauseCursor, '`next_before` of a page'),
      },
      answers: { '200': { description: 'Newest first.', schema: PauseList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => {
      const { rows, more } = await perform(listPauses, query)
      const last = rows.at(-1)
      return { pauses: rows.map(pauseWire), next_before: more && last !== undefined ? pauseCursor(last) : null }
    },
  ),
]
