/** Whether a token may fire a step: `spec.policy.admit`. */
import { kindOf, type Part } from '../../source/reader.ts'
import { readRuleList } from '../check/rules.ts'
import type { Admit } from './playbook.ts'
import type { Reading } from './reading.ts'

export function readAdmit(part: Part, reading: Reading): Admit | null {
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
    part.wrong(`an admission rule needs allow, this is ${kindOf(part.value)}`, 'then: { allow: true }')
    return false
  }
  reading.fields(part, ['allow'], 'what follows')
  if (!part.get('allow').given) part.wrong('an admission rule needs allow', 'then: { allow: true }')
  return part.get('allow').flag('allow') ?? false
}
