/** What the work of a node must satisfy. */
import { isMap } from '../json.ts'
import type { EachWork, Json, Net, Node, Work } from '../net.ts'
import { checkMs, type Report } from './policy.ts'

interface Checks {
  readonly report: Report
  /** Reports an expression that does not parse. */
  expression(path: string, source: string | null): void
  template(path: string, source: Json | null): void
}

export function checkWork(node: Node, at: string, checks: Checks): void {
  const { work } = node
  const { report, template } = checks
  if (work.kind === 'run') template(`${at}.work.args`, work.args)
  if (work.kind === 'child') template(`${at}.work.input`, work.input)
  if (work.kind === 'run' && work.type === '') report(`${at}.work.type`, 'a run needs a type')
  if (work.kind === 'gate') checkMs(work.timeoutMs, `${at}.work.timeoutMs`, report)
  if (work.kind === 'child' && work.mode === 'detached' && work.returns !== undefined) {
    report(`${at}.work.returns`, 'nothing waits for the result of a detached child')
  }
  checkMs(node.appeal?.timeoutMs ?? null, `${at}.appeal.timeoutMs`, report)
  if (node.appeal !== undefined && work.kind !== 'run') {
    report(`${at}.appeal`, `only a run is appealed, node '${node.key}' is a ${work.kind}`)
  }
  if (node.schema !== undefined && !makesRuns(work)) {
    report(`${at}.schema`, `schemas are for runs, node '${node.key}' makes none`)
  }
  checkUnknown(node, at, report)
  if (work.kind === 'each') checkEach(node, work, at, checks)
}

const UNKNOWN: readonly string[] = ['ignore', 'stop', 'undo'] satisfies Net['unknown'][]

function checkUnknown({ key, work, unknown }: Node, at: string, report: Report): void {
  if (unknown === undefined) return
  if (!UNKNOWN.includes(unknown)) report(`${at}.unknown`, `one of: ${UNKNOWN.join(', ')}`)
  if (!makesRuns(work)) report(`${at}.unknown`, `only runs can stay silent, node '${key}' makes none`)
}

function checkEach(node: Node, work: EachWork, at: string, { report, expression, template }: Checks): void {
  const { maxInFlight, body } = work
  expression(`${at}.work.items`, work.items)
  if (typeof maxInFlight === 'string') expression(`${at}.work.maxInFlight`, maxInFlight)
  else if (maxInFlight !== null && !(Number.isInteger(maxInFlight) && maxInFlight >= 1)) {
    report(`${at}.work.maxInFlight`, 'a whole number of at least 1, an expression, or null for all at once')
  }
  if (body?.kind === 'child' && body.mode === 'detached') {
    report(`${at}.work.body`, 'the children of an each are attached')
  }
  if (work.items !== null && body === null) {
    report(`${at}.work.body`, 'an each over an expression needs a body; only literal items can name their own work')
  }
  if (body?.kind === 'run') template(`${at}.work.body.args`, body.args)
  if (body?.kind === 'child') template(`${at}.work.body.input`, body.input)
  if (work.as !== undefined) checkName(work.as, `${at}.work.as`, report)
  if (work.tolerant === true && work.failFast) {
    report(`${at}.work.tolerant`, 'with failFast the first failure ends the list, with tolerant none does: use one')
  }
  if (work.shared === undefined) return
  template(`${at}.work.shared`, work.shared)
  if (!isMap(work.shared)) report(`${at}.work.shared`, 'what items share is a map, by name')
  if (body?.kind !== 'run') report(`${at}.work.shared`, 'only the runs of a body share arguments')
  else if (!isMap(body.args)) {
    report(`${at}.work.body.args`, 'beside shared arguments, those of an item are a map, by name')
  } else if (Object.hasOwn(body.args, '$shared')) {
    report(`${at}.work.body.args`, "'$shared' refers to the shared arguments: use another name")
  }
  if (node.schema?.input != null) {
    report(`${at}.schema.input`, 'arguments that are shared cannot be held to a schema')
  }
}

const TAKEN: ReadonlySet<string> = new Set(['ctx', 'input', 'args', 'event', 'results'])

function checkName(name: string, path: string, report: Report): void {
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) report(path, 'a name of letters, digits and _ that begins with no digit')
  else if (TAKEN.has(name)) report(path, `'${name}' already names something else`)
}

function makesRuns(work: Work): boolean {
  return work.kind === 'run' || (work.kind === 'each' && work.body?.kind !== 'child')
}
