/**
 * A JSON Schema as the fields of a form: objects of plain values, lists of plain values and nested objects. Whatever a
 * field cannot express is asked for as JSON.
 */

export type FieldKind = 'text' | 'long' | 'number' | 'integer' | 'flag' | 'choice' | 'list' | 'group' | 'json'

export interface Choice {
  readonly value: unknown
  readonly label: string
}

export interface Field {
  /** As a JSON pointer: `/address/street`; '' is the whole value. */
  readonly path: string
  /** Its key; '' for the whole value. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly required: boolean
  /** null is permitted: what an empty required field means. */
  readonly isNullable: boolean
  readonly kind: FieldKind
  readonly choices: readonly Choice[]
  /** Of a list: its entries. */
  readonly item: Field | null
  /** Of a group: its members. */
  readonly fields: readonly Field[]
  /** The default; undefined: none. */
  readonly initial: unknown
  /** A minimum or a least length; null: none. */
  readonly least: number | null
  readonly most: number | null
  readonly pattern: string | null
  readonly format: string | null
  readonly schema: unknown
}

type Schema = { readonly [keyword: string]: unknown }

const LONG_TEXT = 120
const DEEPEST = 5
const MOST_FIELDS = 200

/** null: nothing is asked for. */
export function fieldOf(schema: unknown): Field | null {
  if (schema === undefined || schema === null || schema === true) return null
  return read(schema, { path: '', name: '', required: true, depth: 0 })
}

interface At {
  readonly path: string
  readonly name: string
  readonly required: boolean
  readonly depth: number
}

function read(schema: unknown, at: At): Field {
  const given = isSchema(schema) ? schema : {}
  const { types, isNullable } = typesOf(given)
  const isText = types === 'string'
  const isList = types === 'array'
  const bound = (of: 'least' | 'most'): number | null => {
    const end = of === 'least' ? 'min' : 'max'
    return numberIn(given[isText ? `${end}Length` : isList ? `${end}Items` : `${end}imum`])
  }
  const base = {
    path: at.path,
    name: at.name,
    title: textIn(given['title']) ?? at.name,
    description: textIn(given['description']) ?? '',
    required: at.required,
    isNullable,
    choices: [],
    item: null,
    fields: [],
    initial: given['default'],
    least: bound('least'),
    most: bound('most'),
    pattern: textIn(given['pattern']),
    format: textIn(given['format']),
    schema,
  }
  return { ...base, ...shapeOf(given, types, at) }
}

type Shape = Pick<Field, 'kind'> & Partial<Pick<Field, 'choices' | 'item' | 'fields'>>
const AS_JSON: Shape = { kind: 'json' }

function shapeOf(schema: Schema, type: string | null, at: At): Shape {
  const choices = choicesOf(schema)
  if (choices !== null) return { kind: 'choice', choices }
  if (COMBINING.some((keyword) => schema[keyword] !== undefined)) return AS_JSON
  switch (type) {
    case 'string':
      return { kind: (numberIn(schema['maxLength']) ?? 0) > LONG_TEXT ? 'long' : 'text' }
    case 'number':
    case 'integer':
      return { kind: type }
    case 'boolean':
      return { kind: 'flag' }
    case 'array':
      return listShape(schema, at)
    case 'object':
      return groupShape(schema, at)
    default:
      return AS_JSON
  }
}

/** Keywords that a field of its own cannot show. */
const COMBINING = ['$ref', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'patternProperties', 'prefixItems']

function listShape(schema: Schema, at: At): Shape {
  if (!isSchema(schema['items'])) return AS_JSON
  const item = read(schema['items'], { path: `${at.path}/-`, name: '', required: true, depth: at.depth + 1 })
  return PLAIN.has(item.kind) ? { kind: 'list', item } : AS_JSON
}

const PLAIN: ReadonlySet<FieldKind> = new Set(['text', 'long', 'number', 'integer', 'flag', 'choice'])

function groupShape(schema: Schema, at: At): Shape {
  const properties = schema['properties']
  if (!isSchema(properties) || at.depth >= DEEPEST) return AS_JSON
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const names = Object.keys(properties)
  // A key without a field could never be filled in.
  if (names.length > MOST_FIELDS || !required.every((name) => names.includes(name as string))) return AS_JSON
  const fields = names.map((name) =>
    read(properties[name], {
      path: `${at.path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      name,
      required: required.includes(name),
      depth: at.depth + 1,
    }),
  )
  return { kind: 'group', fields }
}

/** Of `enum`, of `const`, and of `oneOf` where each has a constant; null: it is no choice. */
function choicesOf(schema: Schema): readonly Choice[] | null {
  const { enum: values, const: only, oneOf } = schema
  if (Array.isArray(values)) return values.map((value) => ({ value, label: labelOf(value) }))
  if (only !== undefined) return [{ value: only, label: labelOf(only) }]
  if (!Array.isArray(oneOf) || oneOf.length === 0) return null
  if (!oneOf.every((one) => isSchema(one) && one['const'] !== undefined)) return null
  return (oneOf as Schema[]).map((one) => ({
    value: one['const'],
    label: textIn(one['title']) ?? labelOf(one['const']),
  }))
}

function labelOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `["string", "null"]` is a text that may be missing; other mixtures have no field of their own. */
function typesOf({ type }: Schema): { readonly types: string | null; readonly isNullable: boolean } {
  if (typeof type === 'string') return { types: type, isNullable: type === 'null' }
  if (!Array.isArray(type)) return { types: null, isNullable: false }
  const others = type.filter((one) => one !== 'null')
  return { types: others.length === 1 ? String(others[0]) : null, isNullable: others.length < type.length }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function numberIn(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
