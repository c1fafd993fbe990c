/**
 * `approval:` on a step, and the older convention: a step whose action begins with `GATE:`. Both make a gate. Also
 * `governance:`, with the same fields: the gate where people decide about what governance forbade.
 */

import type { Part } from '../../../kernel/reading/part.ts'
import { checkGateOptions } from '../../../model/gates.ts'
import type { Json } from '../../../net/net.ts'
import { partAt, type Reading, readTimeout } from './reading.ts'
import type { Approval, Step } from './workflow.ts'

const CONVENTION = /^GATE:\s*/
const FIELDS = [
  'title',
  'description',
  'form',
  'roles',
  'quorum',
  'of',
  'excludeInitiator',
  'escalate',
  'deadline',
  'onTimeout',
]

/** By option: the correct form, to complete the messages of the gate's own rules. */
const OPTION_HINTS: { readonly [option: string]: string } = {
  form: 'form: { type: object, required: [amount] }',
  roles: 'roles: [manager]',
  quorum: 'a smaller quorum, or more who vote',
  of: 'names, or how many vote: of: [ada, bob], of: 3',
  escalate: 'escalate: [{ after: 4h, roles: [manager] }], before the deadline',
}

/** null: this step is not a gate. */
export function readApproval(
  part: Part,
  step: Pick<Step, 'agent' | 'action' | 'timeoutMs'>,
  reading: Reading,
): Approval | null {
  const byConvention = step.action !== null && CONVENTION.test(step.action)
  if (part.value === false || (!part.given && !byConvention)) return null
  const named = {
    ...(step.action === null ? {} : { title: step.action.replace(CONVENTION, '') }),
    ...(step.agent === null ? {} : { agent: step.agent }),
  }
  const plain = { timeoutMs: step.timeoutMs, onTimeout: 'reject' } as const
  if (!part.given || part.value === true) return { options: named, ...plain }
  if (typeof part.value === 'string' && part.value !== '') return { options: { ...named, title: part.value }, ...plain }
  if (!reading.fields(part, FIELDS, 'an approval')) return { options: named, ...plain }
  return readGate(part, named, step.timeoutMs, reading)
}

/** null: not given. The step's timeout is that of its work, not a deadline for the approvers. */
export function readGovernance(part: Part, reading: Reading): Approval | null {
  if (!part.given) return null
  const plain = { timeoutMs: null, onTimeout: 'reject' } as const
  if (part.value === true) return { options: {}, ...plain }
  if (typeof part.value === 'string' && part.value !== '') return { options: { title: part.value }, ...plain }
  if (!reading.fields(part, FIELDS, 'governance')) return null
  return readGate(part, {}, null, reading)
}

function readGate(part: Part, named: Approval['options'], stepMs: number | null, reading: Reading): Approval {
  const timeoutMs = earlier(readTimeout(part.get('deadline'), 'deadline'), stepMs)
  const options = { ...named, ...readOptions(part, reading) }
  for (const { path, message } of checkGateOptions(options, timeoutMs)) {
    placeOf(part, path).wrong(message, OPTION_HINTS[path.split(/[.[]/)[0] ?? ''] ?? null)
  }
  return { options, timeoutMs, onTimeout: part.get('onTimeout').choice('onTimeout', ['approve', 'reject']) ?? 'reject' }
}

/** Values of the wrong kind are noted and left out; the rules between the options are the gate's own. */
function readOptions(part: Part, reading: Reading): { readonly [key: string]: Json } {
  const options: { readonly [key: string]: Json | null } = {
    title: part.get('title').text('title'),
    description: part.get('description').text('description'),
    form: part.get('form').json(),
    roles: readRoles(part.get('roles')),
    quorum: part.get('quorum').whole('quorum (approvals needed)', { least: 1 }),
    of: part.get('of').json(),
    excludeInitiator: part.get('excludeInitiator').flag('excludeInitiator'),
    escalate: readEscalation(part.get('escalate'), reading),
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null))
}

function readRoles(part: Part): readonly string[] | null {
  if (!part.given) return null
  const items = part.items('roles')
  const roles = items.flatMap((item) => {
    if (!item.given) item.wrong('roles must name at least one role', 'roles: [manager]')
    return item.text('a role') ?? []
  })
  return roles.length === items.length && Array.isArray(part.value) ? roles : null
}

/** `[{ after: 4h, roles: [manager] }]`, counted from when the gate opened. */
function readEscalation(part: Part, reading: Reading): Json | null {
  if (!part.given) return null
  const items = part.items('escalate')
  const stages = items.flatMap((item) => {
    if (!reading.fields(item, ['after', 'roles'], 'an escalation')) return []
    const after = item.get('after')
    if (!after.given) item.wrong('an escalation needs a time', '{ after: 4h, roles: [manager] }')
    const ms = readTimeout(after, 'after')
    const roles = readRoles(item.get('roles'))
    return ms === null ? [] : [{ after: ms, ...(roles === null ? {} : { roles }) }]
  })
  return stages.length === items.length && stages.length > 0 ? stages : null
}

/** `escalate[0].after` below the approval. */
function placeOf(part: Part, path: string): Part {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '')
  return keys.reduce(partAt, part)
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}
