/** The subject, body and deadline of a command. */
import { kindOf, type Part } from '../../source/reader.ts'
import { subjectProblem } from '../runtime/subject.ts'
import { DEADLINE_MS, type Message, RESEND_MS, type Retries } from './saga.ts'

const FIELDS = ['subject', 'body', 'deadline', 'resend', 'retry']
const RETRY_FIELDS = ['max', 'delay', 'maxDelay']
const NO_RETRIES: Retries = { max: 0, delayMs: 1000, maxDelayMs: 60_000 }

/** Given once for all steps. */
export interface Pace {
  readonly deadlineMs: number
  readonly resendMs: number
}

export function readPace(part: Part): Pace {
  return {
    deadlineMs: readLength(part.get('deadline'), 'deadline') ?? DEADLINE_MS,
    resendMs: readLength(part.get('resend'), 'resend') ?? RESEND_MS,
  }
}

/** `code`: its body is built by a program, so none may be given here. */
export function readMessage(part: Part, what: string, pace: Pace, code: boolean): Message | null {
  if (!part.given) return null
  if (!part.hasOnly(FIELDS, what)) return null
  const subject = part.get('subject')
  const text = subject.text('subject')
  if (!subject.given) part.wrong(`${what} needs a subject`, 'subject: refdata.v1.parties.save')
  const problem = text === null ? null : subjectProblem(text)
  if (problem !== null) subject.wrong(problem.message, problem.hint)
  const body = part.get('body')
  if (code && part.has('body'))
    body.wrong('the bodies of this saga are built by code', 'leave it out, or build: template')
  return {
    subject: text ?? '',
    body: part.has('body') ? body.json() : undefined,
    deadlineMs: readLength(part.get('deadline'), 'deadline') ?? pace.deadlineMs,
    resendMs: readLength(part.get('resend'), 'resend') ?? pace.resendMs,
    retries: readRetries(part.get('retry')),
    path: part.path,
  }
}

function readRetries(part: Part): Retries {
  if (!part.given || !part.hasOnly(RETRY_FIELDS, 'retry')) return NO_RETRIES
  return {
    max: part.get('max').whole('max (times it is sent again)', { least: 0, most: 1000 }) ?? 3,
    delayMs: part.get('delay').duration('delay') ?? NO_RETRIES.delayMs,
    maxDelayMs: part.get('maxDelay').duration('maxDelay') ?? NO_RETRIES.maxDelayMs,
  }
}

function readLength(part: Part, what: string): number | null {
  const ms = part.duration(what)
  if (ms !== 0) return ms
  part.wrong(`${what} is longer than nothing, this is ${kindOf(part.value)}`, 'for example 30s, 5m or 24h')
  return null
}
