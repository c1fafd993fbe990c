/**
 * Reasons as sentences, for the person on call. The reader determines how times are shown: by the clock, or as a
 * duration.
 */

import type { Failure } from '../net/marking.ts'
import type { NodeFailure } from '../net/slots.ts'
import type { AdmissionReason, Count, GateReason, InstanceReason, LeaseReason, Reason } from '../views/why-reasons.ts'

export interface Moments {
  /** `at 2026-11-16T02:12:44.000Z`, or `in 42 s`. */
  when(at: number): string
  /** `since 2026-…`, or `for 42 s`. */
  since(at: number): string
  /** `1 min` */
  span(ms: number): string
}

const STOPS: { readonly [reason: string]: string } = {
  failure: 'after a failure',
  compensate: 'after a failure',
  stop: 'because the outcome of a step is unknown',
  cancel: 'because it was cancelled',
  deadline: 'because its time is over',
  engine_error: 'after an error of the engine',
}

export function aboutWords(reason: InstanceReason, m: Moments): string {
  switch (reason.kind) {
    case 'paused':
      return pauseWords(reason, m)
    case 'idle':
      return 'it is idle: it has not been started'
    case 'slot': {
      const full = reason.max === null ? 'a slot' : `a slot: ${reason.inUse} of ${reason.max} execute`
      return `it is queued for ${full}; ${countWords(reason.ahead, 'before it')}`
    }
    case 'cascade':
      return 'the engine is advancing it; there was more to do than fits into one transaction'
    case 'drain': {
      const then = reason.undo ? '; then completed steps are undone' : ''
      return `it is stopping ${STOPS[reason.reason]}${errorWords(reason.error)}: waits for ${reason.active} active to end${then}`
    }
    case 'undo': {
      const now = reason.running === null ? 'undoes' : `undoes ${reason.running} now`
      const more = reason.more > 0 ? ` and ${reason.more} more` : ''
      const then = reason.next.length === 0 ? 'nothing after it' : `then ${reason.next.join(', ')}${more}`
      return `it is rolling back${errorWords(reason.error)}: ${now}, ${then}`
    }
    case 'finals':
      return `its steps have ended; waits for ${plural(reason.active, 'final step', 'final steps')}`
    case 'ended': {
      const undone = reason.undoError === null ? '' : `; its rollback failed too${errorWords(reason.undoError)}`
      return `it ended ${reason.state} ${m.when(reason.at)}${errorWords(reason.error)}${undone}`
    }
  }
}

export function reasonWords(reason: Reason, m: Moments): string {
  switch (reason.kind) {
    case 'dependency': {
      const more = reason.more > 0 ? ` and ${reason.more} more` : ''
      return `waits for ${reason.nodes.map(({ node, state }) => `${node} (${state})`).join(', ')}${more}`
    }
    case 'admission':
      return admissionWords(reason)
    case 'gate':
      return gateWords(reason, m)
    case 'child': {
      const { name, state, id } = reason.child
      return `nested workflow '${name}' is ${state}: ${id}`
    }
    case 'lease':
      return leaseWords(reason, m)
    case 'completion': {
      const since = reason.since === null ? '' : ` ${m.since(reason.since)}`
      return `deferred${since}: waits for the completion of run ${reason.run}${timeoutWords(reason.timeoutAt, m)}`
    }
    case 'retry': {
      const of = `attempt ${reason.attempt} of ${reason.maxAttempts}`
      return `tried again ${m.when(reason.at)}, ${of}${errorWords(reason.error)}${timeoutWords(reason.timeoutAt, m)}`
    }
    case 'scheduled':
      return `due ${m.when(reason.at)}`
    case 'activation':
      return `held until run ${reason.run} is activated`
    case 'paused':
      return pauseWords(reason, m)
    case 'limit':
      return `limit '${reason.key}' is full: ${reason.inUse} of ${reason.max} in use`
    case 'rate':
      return `rate '${reason.key}' is used up: ${reason.used} of ${reason.per} per ${m.span(reason.periodMs)}; more ${m.when(reason.opensAt)}`
    case 'disabled':
      return `type '${reason.type}' is disabled in the registry`
    case 'worker': {
      const runtime = reason.runtime === null ? '' : ` of runtime '${reason.runtime}'`
      if (reason.tools.length > 0) {
        const tools = `${reason.tools.length === 1 ? 'tool' : 'tools'} ${reason.tools.map((tool) => `'${tool}'`).join(', ')}`
        return `no live worker${runtime} has the ${tools} on queue '${reason.queue}'`
      }
      return `no live worker${runtime} takes '${reason.type}' on queue '${reason.queue}'`
    }
    case 'queue': {
      const workers = reason.workers === 0 ? '' : `; ${plural(reason.workers, 'worker takes', 'workers take')} it`
      return `${countWords(reason.ahead, `before it in queue '${reason.queue}'`)}${workers}`
    }
    case 'unsettled':
      return `ended ${reason.status} by plain SQL; the engine will settle it shortly`
  }
}

type PauseReason = Extract<Reason | InstanceReason, { readonly kind: 'paused' }>

/** `paused by ada for 42 s: the supplier is down; its times stand still` */
function pauseWords(reason: PauseReason, m: Moments): string {
  const by = reason.by === null ? '' : ` by ${reason.by}`
  const since = reason.since === null ? '' : ` ${m.since(reason.since)}`
  const why = reason.reason === null ? '' : `: ${reason.reason}`
  const facts = `${by}${since}${why}`
  switch (reason.what) {
    case 'instance': {
      if (reason.state === 'resuming') return `the workflow was paused${facts}; it is being resumed`
      return `the workflow is paused${facts}; its times ${reason.timeouts === 'stop' ? 'stand still' : 'continue'}`
    }
    case 'definition':
      return `new instances of '${reason.definition}' are paused${facts}`
    case 'queue':
      return `queue '${reason.queue}' is paused${facts}`
    case 'type':
      return `type '${reason.type}' is paused${facts}`
  }
}

function admissionWords({ tokens, rules }: AdmissionReason): string {
  const held = tokens === 1 ? 'held by its admission rules' : `${tokens} tokens held by its admission rules`
  return `${held} (${rulesWords(rules)}); evaluated again whenever the context changes`
}

/** `let in if ctx.approved; else keep out` */
export function rulesWords(rules: AdmissionReason['rules']): string {
  const words = rules.map(({ when, allow }) => {
    const verb = allow ? 'let in' : 'keep out'
    return when === null ? `else ${verb}` : `${verb} if ${when}`
  })
  return [...words, ...(rules.at(-1)?.when === null ? [] : ['else keep out'])].join('; ')
}

/** Entries of the context that rules read: what a person could write so that the rules admit. */
export function namesAsked(rules: AdmissionReason['rules']): readonly string[] {
  const texts = rules.flatMap(({ when }) => when ?? [])
  const found = texts.flatMap((text) =>
    [...text.matchAll(/\b(?:ctx|context)\.([A-Za-z_]\w*)/g)].map((m) => m[1] as string),
  )
  return [...new Set(found)]
}

function gateWords(reason: GateReason, m: Moments): string {
  const parts = [`waits for people: ${reason.approvals} of ${plural(reason.quorum, 'approval', 'approvals')}`]
  if (reason.missing !== null) parts.push(`missing ${reason.missing.join(', ') || 'no named voter'}`)
  if (reason.roles !== null) parts.push(`role ${reason.roles.join(' or ')}`)
  if (reason.excluded.length > 0) parts.push(`not ${reason.excluded.join(', ')}, who started it`)
  if (reason.dueAt !== null)
    parts.push(`${reason.onTimeout === 'approve' ? 'approved' : 'rejected'} ${m.when(reason.dueAt)}`)
  if (reason.escalatesAt !== null) parts.push(`escalates ${m.when(reason.escalatesAt)}`)
  const what = reason.appeal === null ? '' : `governance forbade it${errorWords(reason.appeal)}; `
  return `${what}${parts.join('; ')}`
}

function leaseWords(reason: LeaseReason, m: Moments): string {
  const { worker, since, startedAt, stopAskedAt } = reason
  const where = worker === null ? '' : ` (${worker.host}, pid ${worker.pid})`
  const began = startedAt ?? since
  const how =
    reason.by === 'sql'
      ? `leased by ${reason.holder === null ? 'an unnamed client' : `'${reason.holder}'`} by plain SQL`
      : `held by ${reason.holder === null ? 'an unnamed worker' : `worker '${reason.holder}'`}${where}`
  const parts = [
    `${how}${began === null ? '' : ` ${m.since(began)}`}`,
    `attempt ${reason.attempt} of ${reason.maxAttempts}`,
  ]
  if (startedAt === null && reason.by === 'session') parts.push('its start is not reported yet')
  if (reason.until !== null) parts.push(`its lease ends ${m.when(reason.until)}`)
  if (worker !== null && reason.by === 'session')
    parts.push(`returned if its worker stays silent until ${m.when(worker.expiresAt)}`)
  if (stopAskedAt !== null) parts.push(`asked to stop ${m.when(stopAskedAt)}`)
  return parts.join('; ') + timeoutWords(reason.timeoutAt, m)
}

function timeoutWords(at: number | null, m: Moments): string {
  return at === null ? '' : `; times out ${m.when(at)}`
}

function errorWords(error: NodeFailure | Failure | null): string {
  if (error === null) return ''
  const node = (error as NodeFailure).node ?? null
  return ` (${node === null ? '' : `${node}: `}${error.message})`
}

function countWords({ count, more }: Count, what: string): string {
  if (more) return `more than ${count.toLocaleString('en')} ${what}`
  return count === 0 ? `none ${what}` : `${count} ${what}`
}

function plural(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`
}
