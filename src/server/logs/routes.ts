/** The log of a run and of an instance: page by page, as a stream, and written by workers over HTTP. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { openStream, streamPortions } from '../../http/stream.ts'
import { sleep } from '../../kernel/sleep.ts'
import {
  type FollowedLog,
  followInstanceLog,
  followRunLog,
  type LogPage,
  readInstanceLog,
  readRunLog,
  writeRunLog,
} from '../../operations/runs/logs.ts'
import { LogReply, LogRequest, LogStored, linesWire } from '../../wire/logs/log.ts'
import { placeOf, wholeOrNone } from '../../wire/requests/params.ts'
import type { Value } from '../../wire/schema.ts'
import { type CoreContext, route } from '../context.ts'
import { aboutRun } from '../inbox/run-problem.ts'

const AFTER = placeOf('`next_after` of the previous page.')

const QUERY = {
  attempt: wholeOrNone({ least: 1, most: 2 ** 31 - 1 }, { description: 'Only of this execution.' }),
  after: AFTER,
}

const HEADERS = [
  { name: 'Last-Event-ID', description: 'Id of the last event received on an interrupted stream; later lines follow.' },
]

const FOLLOWED =
  'With `Accept: text/event-stream` as a stream: an event `lines` for each part that was written, and `end` when no more will ' +
  'follow.'

/** A follower looks this often: lines are written twice a second. */
const POLL_MS = 500

export const LOG_ROUTES = [
  route(
    'GET /v1/runs/:id/log',
    {
      tag: 'Inbox',
      summary: 'What the executions of a run have logged',
      description: `Lines of handlers, and what tasks have printed. ${FOLLOWED}`,
      does: readRunLog,
      query: QUERY,
      headers: HEADERS,
      answers: { '200': { description: 'Oldest first, about a megabyte a page.', schema: LogReply } },
      errors: ['not_found', 'invalid_request'],
      stream: 'accepted',
    },
    async ({ params, query, perform, request, reply }, context) => {
      if (!wantsStream(request)) return logWire(await aboutRun('change', perform(readRunLog, { ...params, ...query })))
      const followed = await aboutRun('change', perform(followRunLog, { ...params, ...query }))
      return follow(followed, resumeAt(request, query.after), { request, reply }, context)
    },
  ),

  route(
    'GET /v1/instances/:id/log',
    {
      tag: 'Instances',
      summary: 'What the runs of an instance have logged',
      description: `In the order in which parts were written. Nested workflows have logs of their own. ${FOLLOWED}`,
      does: readInstanceLog,
      query: QUERY,
      headers: HEADERS,
      answers: { '200': { description: 'Oldest first, about a megabyte a page.', schema: LogReply } },
      errors: ['not_found', 'invalid_request'],
      stream: 'accepted',
    },
    async ({ params, query, perform, request, reply }, context) => {
      if (!wantsStream(request)) return logWire(await perform(readInstanceLog, { ...params, ...query }))
      const followed = await perform(followInstanceLog, { ...params, ...query })
      return follow(followed, resumeAt(request, query.after), { request, reply }, context)
    },
  ),

  route(
    'POST /v1/runs/:id/log',
    {
      tag: 'Inbox',
      summary: 'Write lines into the log of a run',
      description:
        'By the worker that holds it, with the worker_id and epoch of the claim; with others 409. Sent again after its answer ' +
        'was lost, lines are stored twice.',
      does: writeRunLog,
      body: {
        schema: LogRequest,
        example: { worker_id: 'billing-1', epoch: 0, lines: [{ text: 'charged', fields: { amount: 20 } }] },
      },
      answers: { '200': { description: 'All of them are stored.', schema: LogStored } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, body: { worker_id: worker, epoch, lines }, perform }) =>
      aboutRun(
        'report',
        perform(writeRunLog, {
          id,
          worker,
          epoch,
          lines: lines.map(({ text, level, stream, fields, at }) => ({
            text,
            level: level ?? 'info',
            stream: stream ?? null,
            fields,
            at: at == null ? null : Date.parse(at),
          })),
        }),
      ),
  ),
]

function logWire({ parts, next, more }: LogPage): Value<typeof LogReply> {
  return { lines: linesWire(parts), next_after: next, has_more: more }
}

function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

function resumeAt(request: FastifyRequest, after: number): number {
  const last = request.headers['last-event-id']
  return typeof last === 'string' && last !== '' ? AFTER.read({ after: last }, 'after') : after
}

async function follow(
  followed: FollowedLog,
  after: number,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { streamSeats, closing }: CoreContext,
): Promise<FastifyReply> {
  await streamSeats.taken(request, () =>
    streamPortions({
      after,
      read: async (from) => {
        const { parts, next, more, ended } = await followed.read(from)
        const events = parts.map((part) => ({
          id: part.id,
          type: 'lines',
          text: JSON.stringify({ lines: linesWire([part]) }),
        }))
        return { events, next, more, end: ended ? 'null' : null }
      },
      moved: (_, signal) => sleep(POLL_MS, signal),
      reply: openStream(reply, request),
      closing,
    }),
  )
  return reply
}
