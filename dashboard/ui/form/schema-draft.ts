/** What is typed into the fields of a form, and the value that it makes, or what is wrong with it. */
import { inexactNumber, inexactText } from '../../../src/kernel/exact-numbers.ts'
import type { Field } from './schema-fields.ts'

/** By path: the text of a field; of a flag 'true', 'false' or ''; of a choice its index; of a list one text for each entry. */
export type Draft = ReadonlyMap<string, string | readonly string[]>

export interface FormMistake {
  /** Of the field. */
  readonly path: string
  readonly message: string
}

export type Reading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly mistakes: readonly FormMistake[] }

/** The fields filled in with a value: that of an earlier start, or the defaults. */
export function draftOf(field: Field, value: unknown = field.initial): Draft {
  const draft = new Map<string, string | readonly string[]>()
  fill(field, value, draft)
  return draft
}

function fill(field: Field, value: unknown, draft: Map<string, string | readonly string[]>): void {
  const { kind, item } = field
  if (kind === 'group') {
    const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
    for (const member of field.fields) {
      fill(member, Object.hasOwn(given, member.name) ? given[member.name] : member.initial, draft)
    }
    return
  }
  if (value === undefined || (value === null && kind !== 'choice')) return
  if (kind === 'list' && item !== null) {
    if (Array.isArray(value))
      draft.set(
        field.path,
        value.map((one) => textOf(item, one)),
      )
    return
  }
  draft.set(field.path, textOf(field, value))
}

function textOf({ kind, choices }: Field, value: unknown): string {
  if (kind === 'choice') {
    const wanted = JSON.stringify(value)
    const at = choices.findIndex((choice) => JSON.stringify(choice.value) === wanted)
    return at < 0 ? '' : String(at)
  }
  if (kind === 'json') return JSON.stringify(value, null, 2)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const ABSENT = Symbol('absent')

export function readDraft(field: Field, draft: Draft): Reading {
  const mistakes: FormMistake[] = []
  const value = valueIn(field, draft, mistakes)
  if (mistakes.length > 0) return { ok: false, mistakes }
  return { ok: true, value: value === ABSENT ? undefined : value }
}

/** Text of a field for JSON: the whole value typed by hand. */
export function readJson(text: string, path = ''): Reading {
  try {
    const value: unknown = JSON.parse(text)
    const inexact = inexactNumber(text)
    if (inexact === null) return { ok: true, value }
    return { ok: false, mistakes: [{ path, message: `${inexactText(inexact)}; send it as text` }] }
  } catch (error) {
    return { ok: false, mistakes: [{ path, message: `not valid JSON: ${(error as Error).message}` }] }
  }
}

function valueIn(field: Field, draft: Draft, mistakes: FormMistake[]): unknown {
  const { kind, path, required } = field
  if (kind === 'group') return groupValue(field, draft, mistakes)
  const typed = draft.get(path)
  if (kind === 'list') return listValue(field, Array.isArray(typed) ? (typed as readonly string[]) : [], mistakes)
  const text = typeof typed === 'string' ? typed : ''
  if (text === '' && kind === 'flag' && required) return false
  if (text === '' || (text.trim() === '' && kind !== 'text' && kind !== 'long')) return absent(field, mistakes)
  return plainValue(field, text, mistakes)
}

/** An empty field: left out, null, or a mistake. */
function absent({ required, isNullable, path }: Field, mistakes: FormMistake[]): unknown {
  if (!required) return ABSENT
  if (isNullable) return null
  mistakes.push({ path, message: 'is missing' })
  return ABSENT
}

function groupValue(field: Field, draft: Draft, mistakes: FormMistake[]): unknown {
  // A group that may be missing is missing while nothing is typed into it.
  if (!field.required && !isTyped(field, draft)) return ABSENT
  const values: Record<string, unknown> = {}
  for (const member of field.fields) {
    const value = valueIn(member, draft, mistakes)
    if (value !== ABSENT) Object.defineProperty(values, member.name, { value, enumerable: true })
  }
  return values
}

function isTyped(field: Field, draft: Draft): boolean {
  if (field.kind === 'group') return field.fields.some((member) => isTyped(member, draft))
  const typed = draft.get(field.path)
  return typed !== undefined && typed.length > 0
}

function listValue(field: Field, texts: readonly string[], mistakes: FormMistake[]): unknown {
  const { item, path, required, least, most } = field
  if (item === null || (texts.length === 0 && !required)) return ABSENT
  if (least !== null && texts.length < least) mistakes.push({ path, message: `needs at least ${least} entries` })
  if (most !== null && texts.length > most) mistakes.push({ path, message: `takes at most ${most} entries` })
  return texts.map((text, i) => {
    const at = { ...item, path: `${path}/${i}` }
    if (item.kind === 'flag') return text === 'true'
    if (text === '' && item.kind !== 'text') return absent(at, mistakes)
    return plainValue(at, text, mistakes)
  })
}

function plainValue(field: Field, text: string, mistakes: FormMistake[]): unknown {
  const { kind, path, choices } = field
  if (kind === 'choice') return choices[Number(text)]?.value
  if (kind === 'flag') return text === 'true'
  if (kind === 'json') {
    const read = readJson(text, path)
    if (read.ok) return read.value
    mistakes.push(...read.mistakes)
    return ABSENT
  }
  const message = kind === 'number' || kind === 'integer' ? numberProblem(field, text) : textProblem(field, text)
  if (message !== null) mistakes.push({ path, message })
  if (kind === 'text' || kind === 'long') return text.replaceAll('\r\n', '\n')
  return Number(text)
}

const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/

function numberProblem({ kind, least, most }: Field, given: string): string | null {
  const text = given.trim()
  if (!NUMBER.test(text)) return 'must be a number, such as 12 or 0.5'
  const value = Number(text)
  if (kind === 'integer' && !Number.isInteger(value)) return 'must be a whole number'
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    return 'is too large to be kept exactly'
  }
  if (least !== null && value < least) return `must be at least ${least}`
  if (most !== null && value > most) return `must be at most ${most}`
  return null
}

function textProblem({ least, most, pattern, format }: Field, text: string): string | null {
  const length = [...text].length
  if (least !== null && length < least) return `must have at least ${least} characters`
  if (most !== null && length > most) return `must have at most ${most} characters`
  if (pattern !== null && !matches(pattern, text)) return `must match ${pattern}`
  if (format === 'date' && !/^\d{4}-\d\d-\d\d$/.test(text)) return 'must be a date, such as 2026-03-01'
  if (format === 'date-time' && Number.isNaN(Date.parse(text))) {
    return 'must be a date and a time, such as 2026-03-01T09:30:00Z'
  }
  return null
}

/** An expression that this browser cannot read is left to the server. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

/** The value as JSON, for editing it by hand. */
export function draftText(field: Field, draft: Draft): string {
  const reading = readDraft(field, draft)
  return reading.ok && reading.value !== undefined ? JSON.stringify(reading.value, null, 2) : ''
}
