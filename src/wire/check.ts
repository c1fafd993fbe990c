/**
 * Reports every mistake in a value that does not match its description, with its path and a suggestion. The wording is
 * that of Part, which reads definitions too: a mistake reads the same in a file and in a request. A test compares the
 * result with that of ajv.
 */
import { kindOf, type Part } from '../kernel/reading/part.ts'
import { fits, isMapping, planOf, textFits } from './fit.ts'
import { NOTE, type Schema } from './schema.ts'

/** `name`: the name of the value in messages. */
export function noteMistakes(of: Schema, part: Part, name: string): void {
  if (fits(of, part.value)) return
  const { options, type } = planOf(of)
  if (options !== null) return noteMistakes(meant(options, part.value), part, name)
  switch (type) {
    case null:
    case 'object':
      return ofMapping(of, part, name)
    case 'array':
      return ofList(of, part, name)
    case 'string':
      return ofText(of, part, name)
    case 'boolean':
      return part.wrong(`${name} must be true or false, not ${kindOf(part.value)}`, hintOf(of, 'write true or false'))
    default:
      return ofNumber(of, part, name)
  }
}

/** A value is explained by the first option of its own type. */
function meant(options: readonly Schema[], value: unknown): Schema {
  const type = Array.isArray(value) ? 'array' : typeof value
  return (options.find((option) => planOf(option).type === type) ?? options[0]) as Schema
}

function ofMapping(of: Schema, part: Part, name: string): void {
  const { fields, required, keys, closed, others, nameProblem, least } = planOf(of)
  const what = of[NOTE]?.what ?? name
  const { value } = part
  if (!isMapping(value)) {
    return part.wrong(`${what} must be a mapping, not ${kindOf(value)}`, hintOf(of, 'write { name: value }'))
  }
  if (closed) part.hasOnly([...keys], what)
  for (const [key, field] of fields) {
    const inside = part.get(key)
    const absent = inside.value === undefined || (inside.value === null && !fits(field, null))
    if (!absent) noteMistakes(field, inside, key)
    else if (required.has(key)) inside.wrong(`${key} is missing`, hintOf(field, null))
  }
  if (others === null) return
  if (Object.keys(value).length < least) part.wrong(`${name} names nothing`, hintOf(of, null))
  for (const key of Object.keys(value)) {
    if (keys.has(key)) continue
    const problem = nameProblem?.(key) ?? null
    if (problem !== null) part.get(key).wrong(problem, hintOf(of, null))
    noteMistakes(others, part.get(key), key)
  }
}

function ofList(of: Schema, part: Part, name: string): void {
  const { items, least, most } = planOf(of)
  const { value } = part
  const hint = hintOf(of, null)
  if (!Array.isArray(value)) return void part.items(name)
  if (value.length > most) {
    return part.wrong(`${name} must be a list of ${range({ least, most })}, not ${value.length} of them`, hint)
  }
  if (value.length < least) part.wrong(`${name} names at least ${least === 1 ? 'one' : least}`, hint)
  if (items !== null) for (const item of part.items(name)) noteMistakes(items, item, `an entry of ${name}`)
}

function ofText(of: Schema, part: Part, name: string): void {
  const plan = planOf(of)
  const { value } = part
  const { is, hint = null } = of[NOTE] ?? {}
  if (plan.words !== null) return void part.choice(name, plan.words as readonly string[])
  const problem = textFits(plan, value)
  if (typeof problem === 'string') return part.wrong(problem, hint)
  const long = typeof value === 'string' && value.length > plan.most && is === undefined
  const expected = is ?? (plan.most === Number.POSITIVE_INFINITY ? 'a string' : `a string of ${range(plan)} characters`)
  const found = long ? `${value.length} characters long` : kindOf(value)
  part.wrong(`${name} must be ${expected}, not ${found}`, hint ?? textHint(value))
}

function range({ least, most }: { readonly least: number; readonly most: number }): string {
  return `${Math.max(0, least)} to ${most}`
}

function textHint(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return `write it in quotes: '${value}'`
  return value === '' ? 'leave it out, or write a string' : 'write one string'
}

function ofNumber(of: Schema, part: Part, name: string): void {
  const { type, least, most } = planOf(of)
  const bounded = most !== Number.POSITIVE_INFINITY
  const floor = least !== Number.NEGATIVE_INFINITY
  const bounds = bounded ? ` from ${least} to ${most}` : floor ? ` of at least ${least}` : ''
  const kind = type === 'integer' ? 'a whole number' : 'a number'
  const hint = hintOf(of, `for example ${floor ? least : 1}`)
  part.wrong(`${name} must be ${kind}${bounds}, not ${kindOf(part.value)}`, hint)
}

function hintOf(of: Schema, fallback: string | null): string | null {
  return of[NOTE]?.hint ?? fallback
}
