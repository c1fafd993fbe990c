/**
 * The fields of a task as its author wrote them, with templates unrendered: which are known, and their allowed values.
 */
import type { Fields, Problem } from './tool.ts'

type FieldType = 'text' | 'number' | 'boolean' | 'list' | 'map'

export interface Field {
  /** Left out: anything. A template may render to anything and is not checked. */
  readonly types?: readonly FieldType[]
  /** Shown when another value was written. */
  readonly hint?: string
}

export type FieldTable = { readonly [name: string]: Field }

export function checkFields(config: Fields, table: FieldTable): Problem[] {
  const problems: Problem[] = []
  for (const [name, value] of Object.entries(config)) {
    const field = Object.hasOwn(table, name) ? table[name] : undefined
    if (field === undefined) {
      problems.push({ path: [name], message: `unknown field ${name}`, hint: knownFields(table), warning: true })
    } else if (
      field.types !== undefined &&
      value !== null &&
      !hasTemplate(value) &&
      !field.types.some((type) => is(type, value))
    ) {
      const message = `${name} must be ${field.types.map(spoken).join(' or ')}, not ${kindOf(value)}`
      problems.push({ path: [name], message, ...(field.hint === undefined ? {} : { hint: field.hint }) })
    }
  }
  return problems
}

/** Of several names for one field, at most one may be given; `required`: exactly one. */
export function checkOneOf(
  config: Fields,
  names: readonly string[],
  required: { readonly hint: string } | null,
): Problem[] {
  const given = names.filter((name) => isGiven(config, name))
  if (given.length > 1) {
    return [{ path: [given[1]!], message: `${given.join(' and ')} are given`, hint: `Keep one of them.` }]
  }
  if (given.length === 0 && required !== null) {
    return [{ path: [], message: `${names[0]} is missing`, hint: required.hint }]
  }
  return []
}

export function isGiven(config: Fields, name: string): boolean {
  return Object.hasOwn(config, name) && config[name] !== null
}

/** The value under the name that was given. */
export function given(config: Fields, ...names: readonly string[]): Fields[string] | undefined {
  const name = names.find((each) => isGiven(config, each))
  return name === undefined ? undefined : config[name]
}

/** Text that is still to be rendered, so its value is unknown. */
export function hasTemplate(value: unknown): boolean {
  return typeof value === 'string' && /\{\{|\{%/.test(value)
}

export function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function knownFields(table: FieldTable): string {
  return `Known are ${Object.keys(table).join(', ')}.`
}

function is(type: FieldType, value: Fields[string] | undefined): boolean {
  switch (type) {
    case 'text':
      return typeof value === 'string'
    case 'number':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'list':
      return Array.isArray(value)
    case 'map':
      return isMap(value)
  }
}

function spoken(type: FieldType): string {
  return { text: 'text', number: 'a number', boolean: 'true or false', list: 'a list', map: 'a map' }[type]
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return (
    { string: 'text', number: 'a number', boolean: 'true or false', object: 'a map' }[typeof value as string] ??
    'nothing'
  )
}
