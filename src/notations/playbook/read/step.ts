/** Reads steps. No name is reserved. */
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import { readRuleList } from '../check/rules.ts'
import { readLoop } from './loop.ts'
import { readNext } from './next.ts'
import type { Admit, Step, Task } from './playbook.ts'
import { type Forbidden, type Reading, readSeconds, templatesOf } from './reading.ts'
import { readContextSet } from './sets.ts'
import { readTask } from './task.ts'
import type { Workbook } from './workbook.ts'

const FIELDS = [
  'step',
  'desc',
  'description',
  'title',
  'spec',
  'input',
  'args',
  'loop',
  'tool',
  'next',
  'set',
  'set_ctx',
]
const SPEC = ['policy', 'timeout', 'join', 'queue']
const POLICY = ['admit', 'lifecycle', 'failure', 'emit']

const FORBIDDEN: Forbidden = {
  name: 'step: its name',
  when: 'spec.policy.admit: { rules: [{ when: …, then: { allow: true } }] }, or when on the arcs that lead here',
  case: 'next: { arcs: [{ step: …, when: … }] } for routes, spec.policy.rules of a task for its outcome',
  type: 'tool: { kind: … }',
  kind: 'tool: { kind: … }',
  call: 'tool: { kind: … }',
  tools: 'tool: [ … ]',
  code: 'tool: { kind: python, code: … }',
  command: 'tool: { kind: …, command: … }',
  vars: 'set: { ctx.name: value }',
  retry: 'spec: { policy: { rules: [{ when: …, then: { do: retry } }] } } of the task',
  sink: 'a task or step of its own that writes',
  save: 'a task or step of its own that writes',
  arcs: 'next: { arcs: [ … ] }',
  iterator: 'loop: { in: …, iterator: … }',
}
const SPEC_FORBIDDEN: Forbidden = { next_mode: 'next: { spec: { mode: … } }', admit: 'spec: { policy: { admit: … } }' }

export function readStep(part: Part, workbook: Workbook, reading: Reading): Step | null {
  if (!part.isObject) {
    part.wrong(`a step must be a mapping, not ${kindOf(part.value)}`, '{ step: fetch, tool: { kind: http, url: … } }')
    return null
  }
  reading.fields(part, [...FIELDS, 'output'], 'a step', FORBIDDEN)
  reading.idle(part.get('output'), 'results are kept as they are', 'leave it out')
  const name = readName(part.get('step'), part)
  const spec = part.get('spec')
  if (spec.given) reading.fields(spec, SPEC, 'spec of a step', SPEC_FORBIDDEN)
  const policy = spec.get('policy')
  if (policy.given)
    reading.fields(policy, POLICY, 'policy of a step', { rules: 'spec: { policy: { rules } } of the task' })
  reading.idle(policy.get('emit'), 'every event is recorded', 'leave it out')
  if (!part.has('tool') && !part.get('next').given && !part.has('loop')) {
    reading.lenient(part.path, 'a step has a tool or arcs to other steps', 'tool: { kind: noop }')
  }
  const failure = policy.get('failure')
  if (failure.given) reading.fields(failure, ['mode'], 'failure')
  return {
    name,
    input: templatesOf(reading.either(part, 'input', 'args'), 'input'),
    loop: readLoop(part.get('loop'), reading),
    tasks: readTools(part.get('tool'), name, workbook, reading),
    set: readContextSet(part, reading),
    next: readNext(part.get('next'), reading),
    admit: readAdmit(policy.get('admit'), reading),
    join: spec.get('join').choice('join', ['each', 'all']),
    queue: spec.get('queue').text('queue'),
    timeoutMs: readClock(spec, policy.get('lifecycle'), reading),
    failureMode: failure.get('mode').choice('mode', ['fail_fast', 'best_effort']) ?? 'fail_fast',
    path: part.path,
  }
}

function readName(part: Part, step: Part): string {
  if (!part.given && !step.has('name')) step.wrong('a step needs a name', 'step: fetch')
  const text = part.text('the name of a step')
  if (text === null) return ''
  const bad = text.length > 128 || text.startsWith('#') || text.trim() !== text || /\p{Cc}/u.test(text)
  if (bad) part.wrong(`${kindOf(text)} cannot be the name of a step`, 'at most 128 characters, on one line, no # first')
  return text
}

/** `spec.timeout`, or the same as `policy.lifecycle.timeout_s`. */
function readClock(spec: Part, lifecycle: Part, reading: Reading): number | null {
  if (lifecycle.given) reading.fields(lifecycle, ['timeout_s', 'deadline_s'], 'lifecycle')
  reading.idle(lifecycle.get('deadline_s'), 'a step has one clock, from its start', 'timeout_s')
  const own = readSeconds(spec.get('timeout'), 'timeout')
  const lifetime = readSeconds(lifecycle.get('timeout_s'), 'timeout_s')
  if (own !== null && lifetime !== null)
    lifecycle.get('timeout_s').wrong('the step has two timeouts', 'keep one of the two')
  return own ?? lifetime
}

/** Whether a token may fire a step: `spec.policy.admit`. */
function readAdmit(part: Part, reading: Reading): Admit | null {
  if (!part.given) return null
  if (!reading.fields(part, ['rules', 'on_deny', 'mode'], 'admit')) return null
  reading.idle(part.get('mode'), 'the first rule that holds decides', 'leave it out')
  const list = part.get('rules')
  if (!list.given) part.wrong('admit has rules', 'rules: [{ when: "{{ ctx.approved }}", then: { allow: true } }]')
  const rules = readRuleList(list, 'rules', reading).map(({ when, follows, part: rule }) => {
    const path = when === null ? rule.path : rule.get('when').path
    return { when, allow: readAllow(follows, reading), path }
  })
  if (Array.isArray(list.value) && list.value.length === 0)
    list.wrong('admit without rules denies everything', 'leave it out')
  return { rules, onDeny: part.get('on_deny').choice('on_deny', ['hold', 'discard']) ?? 'hold', path: part.path }
}

function readAllow(part: Part, reading: Reading): boolean {
  if (!part.isObject) {
    part.wrong(`an admission rule needs allow, not ${kindOf(part.value)}`, 'then: { allow: true }')
    return false
  }
  reading.fields(part, ['allow'], 'what follows')
  if (!part.get('allow').given) part.wrong('an admission rule needs allow', 'then: { allow: true }')
  return part.get('allow').flag('allow') ?? false
}

/** `tool` of a step: one task, or a list of them, in every shape that authors have written. */
function readTools(part: Part, step: string, workbook: Workbook, reading: Reading): readonly Task[] {
  if (!part.given) return []
  if (part.isObject) {
    const task = part.has('kind') || part.has('type') ? null : labelled(part)
    if (task !== null) return [lenientLabel(part, task, workbook, reading)]
    return [readOne(part, `${step}_task`, workbook, reading)]
  }
  if (!Array.isArray(part.value)) {
    part.wrong(`tool must be a mapping or a list of them, not ${kindOf(part.value)}`, 'tool: { kind: python, code: … }')
    return []
  }
  if (part.value.length === 0) reading.lenient(part.path, 'tool is an empty list', 'leave it out')
  return part.items('tool').flatMap((item, i) => {
    if (!item.isObject) {
      item.wrong(`a task must be a mapping, not ${kindOf(item.value)}`, '{ name: fetch, kind: http, url: … }')
      return []
    }
    const task = item.has('kind') || item.has('type') ? null : labelled(item)
    if (task !== null) return [lenientLabel(item, task, workbook, reading)]
    if (!item.get('name').given && item.has('kind')) {
      reading.lenient(item.path, `a task of a list has a name; this one is task_${i}`, `name: task_${i}`)
    }
    return [readOne(item, `task_${i}`, workbook, reading)]
  })
}

function readOne(part: Part, standard: string, workbook: Workbook, reading: Reading): Task {
  const label = part.get('name').text('the name of a task') ?? standard
  return workbook.resolve(readTask(part, label, reading), part)
}

/** `{ label: { kind, … } }`; null: another form. */
function labelled(part: Part): Part | null {
  const keys = Object.keys(part.value as object)
  const [only] = keys
  if (keys.length !== 1 || only === undefined) return null
  const task = part.get(only)
  return task.isObject && (task.has('kind') || task.has('type')) ? task : null
}

function lenientLabel(part: Part, task: Part, workbook: Workbook, reading: Reading): Task {
  const label = String(task.path.at(-1))
  reading.lenient(part.path, `the name of task '${label}' is a key`, `write { name: ${label}, kind: … }`)
  return workbook.resolve(readTask(task, label, reading), task)
}
