/** The rules of a task's policy: the first that holds decides. */
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import { readWhen } from '../read/guard.ts'
import { ACTIONS, type Rule } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'
import { readSets, SET_FIELDS } from '../read/sets.ts'
import { BACKOFFS } from '../runtime/program.ts'

const POLICY_FIELDS = ['rules', 'mode', 'on_unmatched', 'before', 'after', 'finally']
const THEN_FIELDS = ['do', 'attempts', 'backoff', 'delay', 'to', ...SET_FIELDS]
const DEFAULT_ATTEMPTS = 3
const DEFAULT_DELAY_S = 1

export interface Policy {
  readonly rules: readonly Rule[]
  readonly onUnmatched: 'fail' | 'continue'
}

export function readPolicy(part: Part, reading: Reading): Policy {
  const none: Policy = { rules: [], onUnmatched: 'fail' }
  if (!part.given) return none
  if (!part.isObject) {
    part.wrong(`a policy must be a mapping, not ${kindOf(part.value)}`, 'policy: { rules: [ … ] }')
    return none
  }
  reading.fields(part, POLICY_FIELDS, 'a policy')
  for (const field of ['before', 'after', 'finally', 'mode']) {
    reading.idle(part.get(field), 'only rules count', 'write it as rules')
  }
  const rules = part.get('rules')
  if (!rules.given && !part.has('on_unmatched'))
    part.wrong('a policy has rules', 'rules: [{ when: …, then: { do: retry } }]')
  return {
    rules: readRuleList(rules, 'rules', reading).map((rule) => ({
      ...readThen(rule.follows, reading),
      ...placed(rule),
    })),
    onUnmatched: part.get('on_unmatched').choice('on_unmatched', ['fail', 'continue']) ?? 'fail',
  }
}

/** One rule, of a task or of admission: the condition, and the part with what follows. */
export interface ReadRule {
  readonly when: string | null
  readonly follows: Part
  readonly part: Part
}

function placed({ when, part, follows }: ReadRule): Pick<Rule, 'when' | 'path' | 'thenPath'> {
  return { when, path: when === null ? part.path : part.get('when').path, thenPath: follows.path }
}

/** `else` comes in three shapes: with `then` inside, with the action inside, empty beside a `then`. */
export function readRuleList(list: Part, what: string, reading: Reading): readonly ReadRule[] {
  const rules: ReadRule[] = []
  let last: Part | null = null
  for (const part of list.items(what)) {
    if (!part.isObject) {
      part.wrong(`a rule must be a mapping, not ${kindOf(part.value)}`, '{ when: "{{ … }}", then: { … } }')
      continue
    }
    if (last !== null) {
      const line = reading.line(last.path)
      reading.lenient(part.path, 'this rule is never reached', `the else in line ${line} comes last`)
    }
    const rule = part.has('else') ? readElse(part, reading) : readWhenThen(part, reading)
    if (rule === null) continue
    if (part.has('else')) last = part
    rules.push(rule)
  }
  return rules
}

function readWhenThen(part: Part, reading: Reading): ReadRule | null {
  reading.fields(part, ['when', 'then'], 'a rule')
  if (!part.has('when')) {
    reading.lenient(part.path, 'a rule without a condition always holds', 'write else: { then: … }')
  }
  const then = part.get('then')
  if (!then.given) part.wrong('a rule needs an action', 'then: { do: continue }')
  return then.given ? { when: readWhen(part.get('when'), reading), follows: then, part } : null
}

function readElse(part: Part, reading: Reading): ReadRule | null {
  reading.fields(part, ['else', 'then'], 'an else')
  const inside = part.get('else')
  if (!inside.given) {
    const then = part.get('then')
    if (!then.given) {
      part.wrong('an else needs an action', 'else: { then: { do: continue } }')
      return null
    }
    reading.lenient(then.path, "'then' is beside its else", 'write else: { then: … }', true)
    return { when: null, follows: then, part }
  }
  if (!inside.isObject) {
    inside.wrong(`else must be a mapping, not ${kindOf(inside.value)}`, 'else: { then: { do: continue } }')
    return null
  }
  if (part.has('then')) part.get('then').wrong('an else has one then', 'keep the one inside')
  if (!inside.has('then')) {
    reading.lenient(inside.path, "an else without 'then'", 'write else: { then: … }')
    return { when: null, follows: inside, part }
  }
  reading.fields(inside, ['then'], 'an else')
  return { when: null, follows: inside.get('then'), part }
}

function readThen(part: Part, reading: Reading): Omit<Rule, 'when' | 'path' | 'thenPath'> {
  if (typeof part.value === 'string' && (ACTIONS as readonly string[]).includes(part.value)) {
    reading.lenient(part.path, `'then' must be a mapping, not '${part.value}'`, `then: { do: ${part.value} }`)
    return { ...plain(), do: part.value as Rule['do'] }
  }
  if (!reading.fields(part, THEN_FIELDS, 'what follows')) return plain()
  const action = part.get('do')
  if (!action.given) part.wrong("'then' needs an action", `do: ${ACTIONS.join(' | ')}`)
  const word = action.choice('do', ACTIONS) ?? 'continue'
  for (const [field, of] of [
    ['attempts', 'retry'],
    ['backoff', 'retry'],
    ['delay', 'retry'],
    ['to', 'jump'],
  ] as const) {
    if (action.given && word !== of) reading.idle(part.get(field), `it is of do: ${of}`, 'leave it out')
  }
  const to = part.get('to')
  if (word === 'jump' && !to.given) part.wrong('a jump needs a target', 'to: the name of a task')
  return {
    do: word,
    attempts: part.get('attempts').whole('attempts (tries in all)', { least: 1 }) ?? DEFAULT_ATTEMPTS,
    backoff: readBackoff(part.get('backoff'), reading),
    delayS: readDelay(part.get('delay')),
    to: to.text('to') === 'prev' ? 'previous' : to.text('to'),
    set: readSets(part, reading),
  }
}

function plain(): Omit<Rule, 'when' | 'path' | 'thenPath'> {
  return { do: 'continue', attempts: DEFAULT_ATTEMPTS, backoff: 'none', delayS: DEFAULT_DELAY_S, to: null, set: null }
}

function readBackoff(part: Part, reading: Reading): Rule['backoff'] {
  if (part.value === 'fixed') {
    reading.lenient(part.path, "there is no backoff 'fixed'", 'backoff: none waits the same time after each failure')
    return 'none'
  }
  return part.choice('backoff', Object.keys(BACKOFFS) as (keyof typeof BACKOFFS)[]) ?? 'none'
}

/** Seconds, or a template that gives them. */
function readDelay(part: Part): number | string {
  if (typeof part.value === 'string' && part.value.includes('{{')) return part.value
  return part.number('delay (seconds)', 0, 31_536_000) ?? DEFAULT_DELAY_S
}
