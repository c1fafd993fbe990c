/**
 * Which types a worker takes, as it writes them: names, and prefixes such as `billing.%`.
 *
 * A text without `%` is a name, taken as it is. In a text with `%`, one at the end makes a prefix of what stands before
 * it, and `\%`, `\_` and `\\` stand for the second character: `100\%.%` is everything that begins with `100%.`, `100\%` is the
 * name `100%`. An underscore is an underscore, written `_` or `\_`. Anything else would mean one thing here and another to
 * LIKE, so it is refused.
 */
export type TypeFilter = { readonly exact: string } | { readonly prefix: string }

/** Says what is wrong with a filter and how to write it; whoever took the filter from outside says where it stood. */
export class TypeFilterError extends Error {}

const ESCAPED = new Set(['%', '_', '\\'])

export function parseTypeFilter(text: string): TypeFilter {
  if (typeof text !== 'string' || text === '') throw new TypeFilterError('a type is a text of at least one character')
  if (text.includes('\0') || !text.isWellFormed()) {
    throw new TypeFilterError(`${shown(text)} holds a character that no type can have`)
  }
  if (!text.includes('%')) return { exact: text }
  let name = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '%') {
      if (at === text.length - 1) return { prefix: name }
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

/** Names and prefixes apart, each once; null: every type. */
export function splitTypeFilters(types: readonly string[] | null): {
  readonly exact: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
} {
  const exact = new Set<string>()
  const prefixes = new Set<string>()
  for (const text of types ?? ['%']) {
    const filter = parseTypeFilter(text)
    if ('exact' in filter) exact.add(filter.exact)
    else prefixes.add(filter.prefix)
  }
  return { exact, prefixes }
}

/** Whether a type is among those named; null: every one is. */
export function typeMatcher(types: readonly string[] | null): (type: string) => boolean {
  if (types === null) return () => true
  const { exact, prefixes } = splitTypeFilters(types)
  const starts = [...prefixes]
  return (type) => exact.has(type) || starts.some((prefix) => type.startsWith(prefix))
}

function shown(text: string): string {
  return `'${text.length > 100 ? `${text.slice(0, 100)}…` : text}'`
}
