/**
 * The types that a worker takes, as it writes them: names, and prefixes such as `billing.%`.
 *
 * A text without `%` is a name, taken literally. In a text with `%`, one at the end makes the text before it a prefix,
 * and `\%`, `\_` and `\\` represent the second character: `100\%.%` is everything that begins with `100%.`, `100\%` is
 * the name `100%`. An underscore is an underscore, written `_` or `\_`. Anything else would have a different meaning in
 * LIKE, so it is refused.
 *
 * A type may end in the tools that its worker must have, `playbook.step:tools=http+python`, sorted, each once. Their
 * filter is `playbook.step:tools=%{http,noop,python}`: all such types that need no other tools. So a run goes only to a
 * worker that can do it, and the claim skips all runs of such a type at once, by the index of types.
 */

import { inputError } from './errors.ts'
import { MAX_TYPE_LENGTH } from './limits.ts'

export type TypeFilter = { readonly exact: string } | { readonly prefix: string } | ToolsFilter

export interface ToolsFilter {
  /** What the types begin with, the mark included. */
  readonly before: string
  readonly tools: ReadonlySet<string>
}

const TOOLS = ':tools='

/** null: too many for a type. */
export function typeWithTools(type: string, tools: Iterable<string>): string | null {
  const whole = `${type}${TOOLS}${[...new Set(tools)].map(encodeURIComponent).sort().join('+')}`
  return whole.length > MAX_TYPE_LENGTH ? null : whole
}

/** The filter of a worker that has these tools. */
export function filterOfTools(type: string, tools: Iterable<string>): string {
  return `${type}${TOOLS}%{${[...new Set(tools)].map(encodeURIComponent).sort().join(',')}}`
}

/** The tools that a type requires of its worker; empty: none. */
export function toolsOfType(type: string): readonly string[] {
  const at = type.indexOf(TOOLS)
  return at < 0
    ? []
    : type
        .slice(at + TOOLS.length)
        .split('+')
        .map(decoded)
}

/** A type without the tools it needs. */
export function typeOfTools(type: string): string {
  const at = type.indexOf(TOOLS)
  return at < 0 ? type : type.slice(0, at)
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

/** Whether a type needs no other tools. */
export function takes({ before, tools }: ToolsFilter, type: string): boolean {
  return (
    type.startsWith(before) &&
    type
      .slice(before.length)
      .split('+')
      .every((tool) => tools.has(tool))
  )
}

/** What is wrong with a filter and how to write it; code that received the filter from a client adds its place. */
export class TypeFilterError extends Error {}

const ESCAPED = new Set(['%', '_', '\\'])

export function parseTypeFilter(text: string): TypeFilter {
  if (typeof text !== 'string' || text === '')
    throw new TypeFilterError('a type must be a string of at least one character')
  if (text.includes('\0') || !text.isWellFormed()) {
    throw new TypeFilterError(`${shown(text)} holds a character that no type can have`)
  }
  if (!text.includes('%')) return { exact: text }
  let name = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '%') {
      if (at === text.length - 1) return { prefix: name }
      if (name.endsWith(TOOLS) && text.startsWith('{', at + 1) && text.endsWith('}'))
        return { before: name, tools: new Set(text.slice(at + 2, -1).split(',')) }
      throw new TypeFilterError(
        `'%' is allowed only at the end of a type: ${shown(text)}; a percent sign of the name is written '\\%'`,
      )
    }
    if (character === '\\' && !ESCAPED.has(text.charAt(++at))) {
      throw new TypeFilterError(
        `a backslash beside a '%' stands before '%', '_' or another backslash: ${shown(text)}; one of the name is written '\\\\'`,
      )
    }
    name += text.charAt(at)
  }
  return { exact: name }
}

/** Separates names, prefixes and sets of tools, names and prefixes each once; null: every type. */
export function splitTypeFilters(types: readonly string[] | null): {
  readonly exact: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
  readonly withTools: readonly ToolsFilter[]
} {
  const exact = new Set<string>()
  const prefixes = new Set<string>()
  const withTools: ToolsFilter[] = []
  for (const text of types ?? ['%']) {
    const filter = parseTypeFilter(text)
    if ('exact' in filter) exact.add(filter.exact)
    else if ('prefix' in filter) prefixes.add(filter.prefix)
    else withTools.push(filter)
  }
  return { exact, prefixes, withTools }
}

/** Whether a type is among the named ones; null: every one is. */
export function typeMatcher(types: readonly string[] | null): (type: string) => boolean {
  if (types === null) return () => true
  const { exact, prefixes, withTools } = splitTypeFilters(types)
  const starts = [...prefixes]
  return (type) =>
    exact.has(type) || starts.some((prefix) => type.startsWith(prefix)) || withTools.some((each) => takes(each, type))
}

function shown(text: string): string {
  return `'${text.length > 100 ? `${text.slice(0, 100)}…` : text}'`
}

/** A type or prefix from a client. `place`: the caller's name for it, such as `types[0]`. */
export function readTypeFilter(text: string, place: string): TypeFilter {
  try {
    return parseTypeFilter(text)
  } catch (error) {
    if (!(error instanceof TypeFilterError)) throw error
    throw inputError('invalid_request', place, error.message)
  }
}
