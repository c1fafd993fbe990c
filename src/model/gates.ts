/**
 * Gates: what they ask for, their votes, and the state of a vote.
 *
 * A notation writes the options into the net; each gate keeps them unchanged, unknown keys included.
 */

import { schemaProblem } from '../kernel/json-schema.ts'
import type { GateWork, Json, Net } from '../net/net.ts'
import type { Problem } from '../net/validate/policy.ts'
import type { GateRow, InstanceRow } from './rows.ts'

export interface GateOptions {
  readonly title?: string
  readonly description?: string
  /** JSON Schema that an approval's answer must satisfy. */
  readonly form?: Json
  /** One of these roles is needed to vote; left out: none is. */
  readonly roles?: readonly string[]
  /** Approvals needed; default 1. */
  readonly quorum?: number
  /** Who may vote, by name, or how many votes there can be. Left out: as many as approvals are needed. */
  readonly of?: readonly string[] | number
  /** true: persons who started or retried the workflow may not vote. */
  readonly excludeInitiator?: boolean
  readonly escalate?: readonly EscalationStage[]
}

export interface EscalationStage {
  /** Milliseconds after the gate opened. */
  readonly after: number
  /** The role that may vote from then on as well; left out: the escalation is only recorded as an event. */
  readonly roles?: readonly string[]
}

export interface Vote {
  /** null: unknown, which only a gate without quorum and roles allows. */
  readonly by: string | null
  readonly roles: readonly string[]
  /** Milliseconds on the store's clock. */
  readonly at: number
  readonly approved: boolean
  readonly answer?: Json
  readonly reason: string | null
  /** Id of the signed link that was used. */
  readonly link: string | null
}

/** The state of a vote, for display. */
export interface Standing {
  readonly options: GateOptions
  readonly votes: readonly Vote[]
  readonly quorum: number
  /** How many votes are possible. */
  readonly seats: number
  readonly approvals: number
  readonly rejections: number
  /** Any of these roles may vote; null: no role is needed. */
  readonly roles: readonly string[] | null
  /** Named persons who may vote and have not; null: no persons are named. */
  readonly missing: readonly string[] | null
  /** Persons who may not vote because they started or retried the workflow. */
  readonly excluded: readonly string[]
}

export interface GateView {
  readonly gate: GateRow
  readonly instance: InstanceRow
  readonly standing: Standing
}

/** The suffix of a name that was not authenticated. */
export const UNVERIFIED = ' (unverified)'

const MOST_NAMES = 1000
const LONGEST_NAME = 200

/** Options that were checked before they were stored. A gate of an older net may have none. */
export function gateOptions(text: string): GateOptions {
  const options: unknown = JSON.parse(text)
  return typeof options === 'object' && options !== null && !Array.isArray(options) ? (options as GateOptions) : {}
}

export function votesOf(gate: GateRow): readonly Vote[] {
  return JSON.parse(gate.votes)
}

/** Everything that is wrong, each with its path below the options. */
export function checkGateOptions(options: Json, timeoutMs: number | null = null): readonly Problem[] {
  if (options === null) return []
  if (typeof options !== 'object' || Array.isArray(options)) return [{ path: '', message: 'options are an object' }]
  const problems: Problem[] = []
  const report = (path: string, message: string): void => void problems.push({ path, message })
  const given = options as { readonly [key: string]: Json | undefined }
  for (const key of ['title', 'description']) {
    if (given[key] !== undefined && typeof given[key] !== 'string') report(key, 'a string')
  }
  if (given['excludeInitiator'] !== undefined && typeof given['excludeInitiator'] !== 'boolean') {
    report('excludeInitiator', 'true or false')
  }
  if (given['form'] !== undefined) checkForm(given['form'], report)
  if (given['roles'] !== undefined) checkNames(given['roles'], 'roles', report)
  checkQuorum(given, report)
  if (given['escalate'] !== undefined) checkEscalation(given['escalate'], timeoutMs, report)
  return problems
}

/** All gates of a net, those of appeals among them, with the path of each mistake. */
export function gateProblems(net: Net): readonly Problem[] {
  const problemsAt = (at: string, { options, timeoutMs }: GateWork): readonly Problem[] =>
    checkGateOptions(options, timeoutMs).map(({ path, message }) => ({
      path: `${at}.options${path === '' ? '' : `.${path}`}`,
      message,
    }))
  return net.nodes.flatMap(({ key, work, appeal }) => [
    ...(work.kind === 'gate' ? problemsAt(`nodes.${key}.work`, work) : []),
    ...(appeal === undefined ? [] : problemsAt(`nodes.${key}.appeal`, appeal)),
  ])
}

type Report = (path: string, message: string) => void

function checkForm(form: Json, report: Report): void {
  const problem = schemaProblem(form)
  if (problem !== null) report('form', problem)
}

function checkNames(names: Json, path: string, report: Report): boolean {
  const good =
    Array.isArray(names) &&
    names.length > 0 &&
    names.length <= MOST_NAMES &&
    names.every((name) => typeof name === 'string' && name.trim() !== '' && name.length <= LONGEST_NAME)
  if (!good) report(path, `a list of 1 to ${MOST_NAMES} names of up to ${LONGEST_NAME} characters`)
  else if (new Set(names).size < names.length) report(path, 'names a name twice')
  else return true
  return false
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= MOST_NAMES
}

function checkQuorum({ quorum = 1, of }: { readonly [key: string]: Json | undefined }, report: Report): void {
  if (!isCount(quorum)) return report('quorum', `a whole number from 1 to ${MOST_NAMES}: approvals needed`)
  if (of === undefined) return
  if (typeof of !== 'number' && !Array.isArray(of)) return report('of', 'names, or how many votes there can be')
  if (Array.isArray(of) ? !checkNames(of, 'of', report) : !isCount(of)) {
    if (!Array.isArray(of)) report('of', `a whole number from 1 to ${MOST_NAMES}`)
    return
  }
  const seats = Array.isArray(of) ? of.length : (of as number)
  if (quorum > seats) report('quorum', `${quorum} approvals can never come of ${seats}`)
}

function checkEscalation(stages: Json, timeoutMs: number | null, report: Report): void {
  if (!Array.isArray(stages)) return report('escalate', 'a list of { after, roles }')
  let before = 0
  for (const [i, stage] of stages.entries()) {
    const at = `escalate[${i}]`
    if (typeof stage !== 'object' || stage === null || Array.isArray(stage)) {
      report(at, '{ after, roles }')
      continue
    }
    const { after, roles } = stage as { readonly after?: Json; readonly roles?: Json }
    if (typeof after !== 'number' || !(after > before) || !Number.isFinite(after)) {
      report(`${at}.after`, `milliseconds after the gate opened, more than ${before === 0 ? '0' : 'the stage before'}`)
    } else {
      if (timeoutMs !== null && after >= timeoutMs) {
        report(`${at}.after`, `comes too late: the gate is decided after ${timeoutMs} ms`)
      }
      before = after
    }
    if (roles !== undefined) checkNames(roles, `${at}.roles`, report)
  }
}

export function standingOf(gate: GateRow, initiators: readonly string[]): Standing {
  const options = gateOptions(gate.options)
  const votes = votesOf(gate)
  const excluded = options.excludeInitiator === true ? initiators : []
  const isExcluded = (name: string): boolean => excluded.some((other) => sameName(name, other))
  const quorum = options.quorum ?? 1
  const names = typeof options.of === 'object' ? options.of.filter((name) => !isExcluded(name)) : null
  const seats = names?.length ?? (options.of as number | undefined) ?? quorum
  const roles = [...new Set([...(options.roles ?? []), ...escalatedRoles(gate, options)])]
  const approvals = votes.filter((vote) => vote.approved).length
  return {
    options,
    votes,
    quorum,
    // Where the initiator is needed and excluded, it takes an escalation or the deadline: no vote may decide by itself.
    seats: Math.max(seats, quorum),
    approvals,
    rejections: votes.length - approvals,
    roles: roles.length === 0 || (options.roles === undefined && names === null) ? null : roles,
    missing: names?.filter((name) => !votes.some(({ by }) => by !== null && sameName(by, name))) ?? null,
    excluded,
  }
}

export function escalatedRoles(gate: GateRow, { escalate = [] }: GateOptions): readonly string[] {
  return escalate.slice(0, gate.escalated).flatMap(({ roles = [] }) => roles)
}

/** A name, authenticated or not, is one person's: it votes once, and its exclusion applies to both. */
export function sameName(a: string, b: string): boolean {
  return bare(a) === bare(b)
}

function bare(name: string): string {
  return name.endsWith(UNVERIFIED) ? name.slice(0, -UNVERIFIED.length) : name
}

export interface GateAnswer {
  readonly gateId: string
  readonly approved: boolean
  readonly answer?: Json
  /** Who votes; null: unknown, which a gate with a quorum or roles refuses. */
  readonly actor: string | null
  readonly roles?: readonly string[]
  readonly reason?: string
  /** Id of the signed link that the voter used. */
  readonly link?: string
  /** Decides regardless of quorum, roles and form: for dry runs. */
  readonly force?: boolean
}

export interface GateLink {
  readonly gateId: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly expiresAt: number
  /** Id of the link. */
  readonly link: string
  readonly actor: string | null
}
