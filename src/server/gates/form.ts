/**
 * A form's JSON Schema as fields of an HTML page: a flat object of plain values. Anything else is requested as JSON.
 */
import { INEXACT_HINT, inexactNumber, inexactText } from '../../kernel/exact-numbers.ts'
import type { Json } from '../../net/net.ts'

export interface Field {
  readonly name: string
  readonly label: string
  readonly description: string | null
  readonly required: boolean
  readonly kind: 'text' | 'long' | 'number' | 'integer' | 'flag' | 'choice'
  readonly choices: readonly Json[]
  readonly initial: Json | undefined
  readonly least: number | null
  readonly most: number | null
}

/** `fields`: these; `json`: the whole answer in one box; `none`: no input. */
export type FormShape =
  | { readonly ask: 'fields'; readonly fields: readonly Field[] }
  | { readonly ask: 'json' }
  | { readonly ask: 'none' }

type Schema = { readonly [key: string]: Json }

const LONG_TEXT = 120

export function shapeOf(form: Json | undefined): FormShape {
  if (form === undefined || form === true) return { ask: 'none' }
  if (!isSchema(form) || form['type'] !== 'object' || !isSchema(form['properties'])) return { ask: 'json' }
  const required = Array.isArray(form['required']) ? form['required'] : []
  const fields = Object.entries(form['properties']).map(([name, schema]) =>
    isSchema(schema) ? fieldOf(name, schema, required.includes(name)) : null,
  )
  // A key without a field could never be filled in.
  const all = fields.every((field) => field !== null) && required.every((name) => fields.some((f) => f?.name === name))
  return all ? { ask: 'fields', fields } : { ask: 'json' }
}

function fieldOf(name: string, schema: Schema, required: boolean): Field | null {
  const kind = kindOf(schema)
  if (kind === null) return null
  const text = kind === 'text' || kind === 'long'
  return {
    name,
    label: typeof schema['title'] === 'string' ? schema['title'] : name,
    description: typeof schema['description'] === 'string' ? schema['description'] : null,
    required,
    kind,
    choices: Array.isArray(schema['enum']) ? schema['enum'] : [],
    initial: schema['default'],
    least: numberOf(schema[text ? 'minLength' : 'minimum']),
    most: numberOf(schema[text ? 'maxLength' : 'maximum']),
  }
}

function kindOf(schema: Schema): Field['kind'] | null {
  const { enum: choices, type } = schema as { readonly enum?: Json; readonly type?: Json }
  if (Array.isArray(choices)) return choices.every((choice) => typeof choice !== 'object') ? 'choice' : null
  if (type === 'string') return (numberOf(schema['maxLength']) ?? 0) > LONG_TEXT ? 'long' : 'text'
  if (type === 'number' || type === 'integer') return type
  return type === 'boolean' ? 'flag' : null
}

/**
 * The answer from a submitted form; undefined: none. Text that is not a number stays a text, which the schema then
 * refuses.
 */
export function answerFrom(shape: FormShape, sent: URLSearchParams): Json | undefined {
  if (shape.ask === 'none') return undefined
  if (shape.ask === 'json') {
    const text = sent.get('answer') ?? ''
    if (text.trim() === '') return undefined
    const value = JSON.parse(text) as Json
    const inexact = inexactNumber(text)
    if (inexact !== null) throw new SyntaxError(`${inexactText(inexact)}; ${INEXACT_HINT}`)
    return value
  }
  const answer: Record<string, Json> = {}
  for (const field of shape.fields) {
    const text = sent.get(inputName(field.name))
    const value = fieldValue(field, text)
    if (value !== undefined) answer[field.name] = value
  }
  return answer
}

export function inputName(name: string): string {
  return `answer.${name}`
}

function fieldValue({ kind, choices, required }: Field, text: string | null): Json | undefined {
  if (kind === 'flag') return text !== null
  if (text === null || (text === '' && !(required && kind !== 'choice'))) return undefined
  if (kind === 'choice') return choices[Number(text)]
  if (kind === 'text' || kind === 'long') return text.replaceAll('\r\n', '\n')
  const value = Number(text)
  return text.trim() === '' ? undefined : Number.isFinite(value) ? value : text
}

function isSchema(value: Json | undefined): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function numberOf(value: Json | undefined): number | null {
  return typeof value === 'number' ? value : null
}
