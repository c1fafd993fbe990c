/**
 * Terms: what queries find that is not a column. A term is a text such as `i:tag:eu` (an instance with this tag) or
 * `r:error:timeout` (a run that failed with this code). Rows of workflow_term are written by the transaction that creates the
 * instance or the run, or that records its failure, and only where there is something to write. Limits bound how many.
 */
import { inputError } from '../../kernel/errors.ts'
import { isStorable } from '../../kernel/json-limits.ts'
import { MAX_TAGS, MAX_TERM_LENGTH, MAX_TERM_MEMBERS } from '../../kernel/limits.ts'
import type { Json } from '../../net/net.ts'
import type { Search } from './search.ts'

/** Characters of the name of a member. */
const MAX_MEMBER_LENGTH = 100

export function termOf(of: Search['of'], field: string, value: string): string {
  return `${of === 'instances' ? 'i' : 'r'}:${field}:${value}`
}

/** null: the value is too long to be found, or cannot be stored. */
export function shortTerm(of: Search['of'], field: string, value: string): string | null {
  return characters(value) <= MAX_TERM_LENGTH && isStorable(value) ? termOf(of, field, value) : null
}

export interface Beginning {
  readonly tags?: readonly string[]
  readonly initiator?: string
  readonly meta?: Json
  readonly input: Json | null
}

/** What a new instance is found by. */
export function startTerms({ tags, initiator, meta, input }: Beginning): readonly string[] {
  const terms: (string | null)[] = []
  for (const tag of tags ?? []) terms.push(termOf('instances', 'tag', tag))
  if (initiator !== undefined) terms.push(shortTerm('instances', 'initiator', initiator))
  addMembers(terms, 'meta', meta)
  addMembers(terms, 'input', input)
  return terms.filter((term) => term !== null)
}

function addMembers(terms: (string | null)[], field: string, value: Json | undefined): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  let left = MAX_TERM_MEMBERS
  for (const [name, member] of Object.entries(value)) {
    if (left === 0) return
    const text = scalarText(member)
    if (text === null || characters(name) > MAX_MEMBER_LENGTH) continue
    terms.push(shortTerm('instances', `${field}.${name}`, text))
    left--
  }
}

/** null: it is no text, number or truth value. */
function scalarText(value: Json): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

function characters(text: string): number {
  return text.length <= MAX_TERM_LENGTH / 2 ? text.length : [...text].length
}

/** Tags as they are stored: each once. `place`: named in errors. */
export function checkedTags(tags: readonly string[], place: string): readonly string[] {
  for (const [i, tag] of tags.entries()) {
    if (typeof tag === 'string' && tag !== '' && characters(tag) <= MAX_TERM_LENGTH && isStorable(tag)) continue
    const rule = `a tag is a text of 1 to ${MAX_TERM_LENGTH} characters, such as 'eu'`
    throw inputError('invalid_request', `${place}[${i}]`, rule)
  }
  const different = [...new Set(tags)]
  if (different.length <= MAX_TAGS) return different
  throw inputError('invalid_request', place, `at most ${MAX_TAGS} tags, these are ${different.length}`)
}
