/** How jobs ended: ack and nack, of one job or of many, the job named in the body or in the path. */
import type { FastifyRequest } from 'fastify'
import { bodyObject } from '../../../http/body.ts'
import { errorAnswer } from '../../../http/failure.ts'
import { RequestError } from '../../../http/request-error.ts'
import { BodyNotes, kindOf, Part } from '../../../kernel/reading/part.ts'
import type { LeaseReport, LeaseSettled } from '../../../model/leases.ts'
import { settleRuns } from '../../../operations/runs/leases.ts'
import type { Body } from '../../../wire/mistaken.ts'
import { list, object, type Schema, type Value } from '../../../wire/schema.ts'
import { readAck, readNack } from '../compile/worker.ts'
import { readWith, refuseNoted } from './body-read.ts'
import { type OjsAsked, type OjsContext, route } from './context.ts'
import { jobProblem } from './jobs/job-problem.ts'
import {
  AckOfJob,
  AckRequest,
  ackWire,
  NackOfJob,
  NackRequest,
  nackWire,
  ReportBatchReply,
  ReportReply,
} from './wire/worker.ts'

const MOST_REPORTS = 1000

type Reading = (part: Part) => LeaseReport

interface ById {
  readonly id: string
}

interface Kind {
  readonly name: 'ack' | 'nack'
  readonly summary: string
  readonly body: Schema
  readonly bodyOfJob: Schema
  readonly read: Reading
  readonly wire: (settled: LeaseSettled) => Value<typeof ReportReply>
}

const ACK: Kind = {
  name: 'ack',
  summary: 'Report that a job succeeded',
  body: AckRequest,
  bodyOfJob: AckOfJob,
  read: readAck,
  wire: ackWire,
}

const NACK: Kind = {
  name: 'nack',
  summary: 'Report that a job failed',
  body: NackRequest,
  bodyOfJob: NackOfJob,
  read: readNack,
  wire: nackWire,
}

const ONE = {
  tag: 'Workers',
  does: settleRuns,
  answers: { '200': { description: 'It is recorded, and its workflow has advanced.', schema: ReportReply } },
  errors: ['not_found', 'conflict'],
} as const

const MANY = {
  tag: 'Workers',
  does: settleRuns,
  description: 'Each is decided separately: a refused one does not affect the others.',
  answers: { '200': { description: 'The outcome of each.', schema: ReportBatchReply } },
} as const

export const REPORT_ROUTES = [
  route('POST /ojs/v1/workers/ack', { ...ONE, ...inBody(ACK) }, reported(ACK)),
  route('POST /ojs/v1/workers/nack', { ...ONE, ...inBody(NACK) }, reported(NACK)),
  route('POST /ojs/v1/jobs/:id/ack', { ...ONE, ...inPath(ACK) }, reportedOf(ACK)),
  route('POST /ojs/v1/jobs/:id/nack', { ...ONE, ...inPath(NACK) }, reportedOf(NACK)),
  route('POST /ojs/v1/workers/ack/batch', { ...MANY, ...inBatch(ACK) }, reportedInBatch(ACK)),
  route('POST /ojs/v1/workers/nack/batch', { ...MANY, ...inBatch(NACK) }, reportedInBatch(NACK)),
]

function inBody({ summary, body }: Kind) {
  return { summary, body: { schema: body, readByRoute: true } }
}

function inPath({ summary, bodyOfJob }: Kind) {
  return { summary: `${summary}, by its path`, body: { schema: bodyOfJob, optional: true, readByRoute: true } }
}

function inBatch({ name, summary, body }: Kind) {
  const schema = object({ [`${name}s`]: list(body, '1 to 1000.') })
  return { summary: `${summary}, many at once`, body: { schema, readByRoute: true } }
}

type One = Value<typeof ReportReply>

function reported({ read, wire }: Kind) {
  return async (asked: OjsAsked, context: OjsContext): Promise<One> =>
    wire(await settleOne(asked, context, readWith(bodyObject(asked.request, { empty: 'refused' }), read)))
}

function reportedOf({ read, wire }: Kind) {
  return async (asked: OjsAsked & { readonly params: ById }, context: OjsContext): Promise<One> => {
    const given = bodyObject(asked.request, { empty: 'allowed' })
    return wire(await settleOne(asked, context, readWith({ ...given, job_id: asked.params.id }, read)))
  }
}

function reportedInBatch({ name, read, wire }: Kind) {
  return async (asked: OjsAsked, context: OjsContext): Promise<Value<typeof ReportBatchReply>> => {
    const { entries, word } = entriesOf(bodyObject(asked.request, { empty: 'refused' }), name)
    const reports = entries.map((one, i) => tryRead(one, [word, i], read))
    return batchWire(asked.request, await settleMany(asked, context, reports), wire)
  }
}

async function settleOne(asked: OjsAsked, context: OjsContext, report: LeaseReport): Promise<LeaseSettled> {
  const [settled] = await settle(asked, context, [report])
  if (settled === undefined || settled instanceof Error) throw settled ?? new Error('one report in, none out')
  return settled
}

/** Those that could not be read stay where they are. */
async function settleMany(
  asked: OjsAsked,
  context: OjsContext,
  reports: readonly (LeaseReport | Error)[],
): Promise<readonly (LeaseSettled | Error)[]> {
  const readable = reports.filter((one): one is LeaseReport => !(one instanceof Error))
  const settled = (await settle(asked, context, readable)).values()
  return reports.map((one) => (one instanceof Error ? one : (settled.next().value as LeaseSettled | Error)))
}

/** In the order of the reports; a refused one is answered in the words of jobs and changes nothing for the others. */
async function settle(
  { perform, request }: OjsAsked,
  { voices }: OjsContext,
  reports: readonly LeaseReport[],
): Promise<readonly (LeaseSettled | Error)[]> {
  const speaker = voices.speakerOf(request)
  const settled = await perform(settleRuns, { reports: reports.map((report) => ({ ...report, speaker })) })
  return settled.map((one, i) =>
    one instanceof Error ? (jobProblem(one, reports[i]?.runId ?? '', 'active') as Error) : one,
  )
}

function batchWire(
  { id: requestId, url }: FastifyRequest,
  outcomes: readonly (LeaseSettled | Error)[],
  wire: Kind['wire'],
): Value<typeof ReportBatchReply> {
  const results = outcomes.map((one) => (one instanceof Error ? errorAnswer(one, { requestId, url }).body : wire(one)))
  const failed = outcomes.filter((one) => one instanceof Error).length
  return { results, count: results.length, succeeded: results.length - failed, failed }
}

function tryRead(body: unknown, path: readonly (string | number)[], read: Reading): LeaseReport | Error {
  const notes = new BodyNotes()
  const part = new Part(notes, body, path)
  if (!part.isObject) part.wrong(`a report must be an object, not ${kindOf(body)}`)
  const asked = read(part)
  try {
    refuseNoted(notes)
    return asked
  } catch (error) {
    return error as Error
  }
}

/** `{ acks: […] }` or `{ nacks: […] }`, or `{ jobs: […] }` for both. */
function entriesOf(body: Body, name: Kind['name']): { readonly entries: readonly unknown[]; readonly word: string } {
  const word = [`${name}s`, 'jobs'].find((key) => body[key] !== undefined) ?? `${name}s`
  const entries = body[word]
  if (Array.isArray(entries) && entries.length > 0 && entries.length <= MOST_REPORTS) return { entries, word }
  const found = Array.isArray(entries) ? `${entries.length} of them` : kindOf(entries)
  throw new RequestError('invalid_request', `${word} must be a list of 1 to ${MOST_REPORTS} reports, not ${found}`, {
    details: { field: word, max: MOST_REPORTS },
    hint: `{ "${name}s": [ { "job_id": "…" } ] }: each is what /workers/${name} takes, and answered by itself.`,
  })
}
