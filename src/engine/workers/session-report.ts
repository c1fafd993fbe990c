/**
 * The report of a session's worker, checked before it joins a batch: values that cannot be stored or sent fail its run, and no
 * other run in the batch.
 */

import { unstorable } from '../../kernel/json-limits.ts'
import type { Failure } from '../../net/marking.ts'
import type { Report } from '../../worker/port.ts'
import { type CheckedRemarks, isRefused, readRemarks } from '../fold/run/remarks.ts'

const LONGEST_SUBJECT = 1024
/**
 * If it were shorter than an answer takes, every command would be sent twice; more than a month is as good as never.
 */
const SHORTEST_RESEND_MS = 100
const LONGEST_RESEND_MS = 31 * 86_400_000
/** White space would end the subject in the protocol of NATS. */
const SUBJECT = /^[^\s\p{Cc}]+$/u

export interface CheckedReport {
  /** The report, or a failure in its place. */
  readonly checked: Report
  readonly remarks: CheckedRemarks
}

export function checkReport(report: Report, maxBytes: number): CheckedReport {
  const remarks = readRemarks(report, { inWorkflow: report.delivery.instanceId !== null, maxBytes })
  if (isRefused(remarks)) return { checked: failedAs(report, remarks), remarks: {} }
  const problem = commandProblem(report, maxBytes)
  if (problem !== null) return { checked: failedAs(report, problem), remarks }
  if (report.outcome.kind !== 'succeeded' || report.outcome.result === null) return { checked: report, remarks }
  const error = unstorable(report.outcome.result, maxBytes)
  if (error === null) return { checked: report, remarks }
  return { checked: failedAs(report, { ...error, message: `the result ${error.message}` }), remarks }
}

export function failedAs(report: Report, error: Failure): Report {
  return { ...report, outcome: { kind: 'failed', error } }
}

/** Approximate length of what is written. */
export function bytesOf({ outcome, set = '', notes = '' }: Report): number {
  const remarks = set.length + notes.length
  if (outcome.kind === 'deferred') return remarks + (outcome.command?.body.length ?? 0) + 400
  return outcome.kind === 'succeeded' ? (outcome.result?.length ?? 0) + remarks + 200 : remarks + 400
}

/** null: there is no command, or it is valid. */
function commandProblem({ outcome, delivery }: Report, maxBytes: number): Failure | null {
  if (outcome.kind !== 'deferred' || outcome.command === undefined) return null
  const { subject, body, resendMs } = outcome.command
  if (delivery.instanceId === null) return wrong('the run belongs to no workflow, so no service could answer it')
  if (typeof subject !== 'string' || !SUBJECT.test(subject) || subject.length > LONGEST_SUBJECT) {
    return wrong(`a subject must be a string of 1 to ${LONGEST_SUBJECT} characters without white space`)
  }
  if (!Number.isInteger(resendMs) || resendMs < SHORTEST_RESEND_MS || resendMs > LONGEST_RESEND_MS) {
    return wrong(`resendMs must be a whole number from ${SHORTEST_RESEND_MS} to ${LONGEST_RESEND_MS}`)
  }
  if (typeof body !== 'string' || !isJson(body)) return wrong('its body is not JSON text')
  const refusal = unstorable(body, maxBytes)
  return refusal === null ? null : { ...refusal, message: `the command ${refusal.message}` }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function wrong(message: string): Failure {
  return { code: 'invalid_request', message: `the command: ${message}`, retryable: false }
}
