/**
 * Parameters by name: `:name` (or `$name`) becomes $1, $2 … wherever it is not part of a text, a quoted name or a
 * comment. A name without a value is left unchanged: `::type`, `[1:n]` and the like are SQL.
 */
import type { Json } from '../../net/net.ts'

export interface Positional {
  readonly text: string
  readonly values: readonly Json[]
  /** Names found that were not given: one of them may be the reason why the database refuses the statement. */
  readonly missing: readonly string[]
}

/** A text, a quoted name, a comment (its beginning, if it may nest), a dollar quote's tag, a cast, a parameter. */
const PART =
  /'[^']*(?:''[^']*)*'?|"[^"]*(?:""[^"]*)*"?|--[^\n]*|\/\*|\$(?:[A-Za-z_]\w*)?\$|::|(?<![\w$])[:$][A-Za-z_]\w*/g

export function positional(sql: string, params: { readonly [name: string]: Json }): Positional {
  const order: string[] = []
  const missing = new Set<string>()
  const part = new RegExp(PART)
  let text = ''
  let at = 0
  for (let found = part.exec(sql); found !== null; found = part.exec(sql)) {
    const [token] = found
    text += sql.slice(at, found.index)
    at = found.index
    const end = endOf(sql, found.index, token)
    const name = token.slice(1)
    if (end === null && token !== '::' && /^[:$]\w/.test(token)) {
      if (Object.hasOwn(params, name)) text += `$${numberOf(order, name)}`
      else {
        missing.add(name)
        text += token
      }
      at += token.length
    } else {
      at = end ?? found.index + token.length
      text += sql.slice(found.index, at)
    }
    part.lastIndex = at
  }
  return { text: text + sql.slice(at), values: order.map((name) => params[name]!), missing: [...missing] }
}

/** The end of what begins at `start`, if that is not the end of its token. */
function endOf(sql: string, start: number, token: string): number | null {
  if (token === '/*') return endOfComment(sql, start)
  if (token.length >= 2 && token.startsWith('$') && token.endsWith('$')) {
    const close = sql.indexOf(token, start + token.length)
    return close === -1 ? sql.length : close + token.length
  }
  if (
    token.startsWith("'") &&
    /[eE]$/.test(sql.slice(Math.max(0, start - 1), start)) &&
    !/\w[eE]$/.test(sql.slice(Math.max(0, start - 2), start))
  ) {
    const escaped = /'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'?/y
    escaped.lastIndex = start
    return start + (escaped.exec(sql)?.[0].length ?? 1)
  }
  return null
}

/** Comments of SQL nest. */
function endOfComment(sql: string, start: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = start
  let depth = 0
  for (let found = mark.exec(sql); found !== null; found = mark.exec(sql)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  return sql.length
}

function numberOf(order: string[], name: string): number {
  const known = order.indexOf(name)
  return known === -1 ? order.push(name) : known + 1
}
