/** Values written to the context (`ctx.x`), an iteration (`iter.x`) or a step-run (`step.x`), in both spellings. */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import type { Templates } from './playbook.ts'
import type { Reading } from './reading.ts'

export const SET_FIELDS = ['set', 'set_ctx', 'set_iter']

const TARGET = /^(ctx|iter|step)\.([^.\s]+)$/
const SCOPES = ['ctx', 'iter', 'step']

/** For a task or a rule: every target. */
export function readSets(part: Part, reading: Reading): Templates | null {
  const found = new Map<string, Json>()
  const add = (target: string, value: Part): void => {
    if (found.has(target)) value.wrong(`'${target}' is set twice`, 'keep one of the two')
    found.set(target, value.json())
  }
  for (const [key, value] of part.get('set').entries('set')) {
    for (const [target, inner] of targetsOf(key, value, reading)) add(target, inner)
  }
  for (const scope of ['ctx', 'iter']) {
    for (const [key, value] of part.get(`set_${scope}`).entries(`set_${scope}`)) {
      const target = `${scope}.${key.startsWith(`${scope}.`) ? key.slice(scope.length + 1) : key}`
      if (TARGET.test(target)) add(target, value)
      else value.wrong(`'${key}' cannot be the name of an entry`, 'a name without dots and spaces')
    }
  }
  return found.size === 0 ? null : Object.fromEntries(found)
}

/** For a step or an arc: entries of the context, by their names. */
export function readContextSet(part: Part, reading: Reading): Templates | null {
  const sets = readSets(part, reading)
  if (sets === null) return null
  const entries = Object.entries(sets).flatMap(([target, value]) => {
    const [scope, name] = target.split('.') as [string, string]
    if (scope === 'ctx') return [[name, value] as const]
    const own = part.get('set')
    const at = own.has(target) ? own.get(target) : own.given ? own : part.get(`set_${scope}`)
    at.wrong(`'${target}' is gone by then: ${scope} is of one run`, `set it in a task, or write ctx.${name}`)
    return []
  })
  return Object.fromEntries(entries)
}

function targetsOf(key: string, value: Part, reading: Reading): readonly (readonly [string, Part])[] {
  if (TARGET.test(key)) return [[key, value]]
  if (SCOPES.includes(key) && value.isObject) {
    reading.lenient(value.path, `targets of set are written with a dot`, `write '${key}.name': value`, true)
    return value.entries('set').flatMap(([name, inner]) => targetsOf(`${key}.${name}`, inner, reading))
  }
  if (key.includes('.') || /\s/.test(key) || key === '') {
    value.wrong(`${kindOf(key)} cannot be set`, 'ctx.name, iter.name or step.name; the name without dots and spaces')
    return []
  }
  reading.lenient(value.path, `'${key}' has no area (ctx, iter or step); it is read as ctx.${key}`, `ctx.${key}`, true)
  return [[`ctx.${key}`, value]]
}
