import { DEPTH_LIMIT } from '../budget.ts'
import { ExprError } from '../errors.ts'
import type { Token } from './jinja.ts'
import { lowerTokens } from './lower.ts'
import type { Code, Segment } from './scan.ts'
import type { Block, Branch, ForBlock, Node, Placed } from './syntax.ts'
import { tokensOf, topLevel, unexpected } from './tokens.ts'

export function expressionIn(code: Code): Node {
  return lowerTokens(tokensOf(code), code).node
}

export function parseBlocks(segments: readonly Segment[]): readonly Block[] {
  return new BlockParser(segments).all()
}

interface Statement {
  readonly keyword: string
  /** The tag without its keyword. */
  readonly code: Code
}

const KEYWORD = /^\s*([A-Za-z_]\w*)/

class BlockParser {
  readonly #segments: readonly Segment[]
  #at = 0

  constructor(segments: readonly Segment[]) {
    this.#segments = segments
  }

  all(): readonly Block[] {
    const { body, end } = this.#body([], 0)
    if (end !== null) throw syntaxError(`\`${end.keyword}\` closes nothing that is open`, end.code)
    return body
  }

  /** Blocks up to one of the `ends`, which is consumed; end null: up to the end of the template. */
  #body(ends: readonly string[], depth: number): { readonly body: readonly Block[]; readonly end: Statement | null } {
    const body: Block[] = []
    while (this.#at < this.#segments.length) {
      const segment = this.#segments[this.#at++] as Segment
      if (segment.kind === 'text') {
        body.push({ kind: 'text', text: segment.text, bytes: Buffer.byteLength(segment.text) })
      } else if (segment.kind === 'output') {
        body.push({ kind: 'output', value: { node: expressionIn(segment.code), place: segment.code.place } })
      } else {
        const statement = statementOf(segment.code)
        if (ends.includes(statement.keyword)) return { body, end: statement }
        body.push(this.#statement(statement, depth))
      }
    }
    return { body, end: null }
  }

  #statement(statement: Statement, depth: number): Block {
    if (depth >= DEPTH_LIMIT) {
      throw new ExprError('expr_budget', `blocks nest deeper than ${DEPTH_LIMIT} levels`, statement.code.place)
    }
    switch (statement.keyword) {
      case 'if':
        return this.#if(statement, depth)
      case 'for':
        return this.#for(statement, depth)
      case 'set':
        return this.#set(statement, depth)
      case 'elif':
      case 'else':
      case 'endif':
      case 'endfor':
      case 'endset':
        throw syntaxError(
          `\`${statement.keyword}\` does not belong here: the block it closes is not open`,
          statement.code,
        )
      default:
        throw syntaxError(
          `there is no statement \`${statement.keyword}\`: use one of if, for, set, raw`,
          statement.code,
        )
    }
  }

  #closed(
    opener: Statement,
    ends: readonly string[],
    depth: number,
  ): { readonly body: readonly Block[]; readonly end: Statement } {
    const { body, end } = this.#body(ends, depth + 1)
    if (end === null)
      throw syntaxError(`\`${opener.keyword}\` is never closed: add {% end${opener.keyword} %}`, opener.code)
    if (end.keyword !== 'elif' && end.code.text.trim() !== '') throw unexpected(tokensOf(end.code)[0] ?? null, end.code)
    return { body, end }
  }

  #if(opener: Statement, depth: number): Block {
    const branches: Branch[] = []
    let statement = opener
    while (statement.keyword === 'if' || statement.keyword === 'elif') {
      const condition = placed(statement.code)
      const { body, end } = this.#closed(opener, ['elif', 'else', 'endif'], depth)
      branches.push({ condition, body })
      statement = end
    }
    const otherwise = statement.keyword === 'else' ? this.#closed(opener, ['endif'], depth).body : []
    return { kind: 'if', branches, otherwise }
  }

  #for(opener: Statement, depth: number): ForBlock {
    const { code } = opener
    const tokens = tokensOf(code)
    const at = topLevel(tokens, 'Identifier', 'in')
    if (at < 0) throw syntaxError('a loop is written {% for name in list %}', code)
    const targets = targetsIn(tokens.slice(0, at), code)
    const { node, filtered } = lowerTokens(tokens.slice(at + 1), code)
    const { body, end } = this.#closed(opener, ['else', 'endfor'], depth)
    const otherwise = end.keyword === 'else' ? this.#closed(opener, ['endfor'], depth).body : []
    const iterable = { node: filtered?.iterable ?? node, place: code.place }
    const condition = filtered === null ? null : { node: filtered.condition, place: code.place }
    return { kind: 'for', targets, iterable, condition, body, otherwise }
  }

  #set(opener: Statement, depth: number): Block {
    const { code } = opener
    const tokens = tokensOf(code)
    const at = topLevel(tokens, 'Equals')
    const [target, dot, name] = tokens
    if (at === 3 && target?.type === 'Identifier' && dot?.type === 'Dot' && name?.type === 'Identifier') {
      const value = { node: lowerTokens(tokens.slice(4), code).node, place: code.place }
      return { kind: 'keep', target: target.value, name: name.value, value }
    }
    const targets = targetsIn(at < 0 ? tokens : tokens.slice(0, at), code)
    if (at >= 0) {
      return { kind: 'set', targets, value: { node: lowerTokens(tokens.slice(at + 1), code).node, place: code.place } }
    }
    const [only, ...others] = targets
    if (only === undefined || others.length > 0) throw syntaxError('a {% set %} block takes one name', code)
    return { kind: 'capture', target: only, body: this.#closed(opener, ['endset'], depth).body }
  }
}

function placed(code: Code): Placed {
  return { node: expressionIn(code), place: code.place }
}

function statementOf(code: Code): Statement {
  const match = KEYWORD.exec(code.text)
  if (match === null) throw syntaxError('a statement starts with if, for or set', code)
  return { keyword: match[1] ?? '', code: { ...code, text: code.text.slice(match[0].length) } }
}

const RESERVED: ReadonlySet<string> = new Set([
  'true',
  'True',
  'false',
  'False',
  'none',
  'None',
  'loop',
  'and',
  'or',
  'not',
  'in',
  'is',
  'if',
  'else',
])

/** `a` or `a, b`, with or without parentheses. */
function targetsIn(tokens: readonly Token[], code: Code): readonly string[] {
  const inner = tokens[0]?.type === 'OpenParen' && tokens.at(-1)?.type === 'CloseParen' ? tokens.slice(1, -1) : tokens
  const names = inner.filter((_token, at) => at % 2 === 0)
  const commas = inner.filter((_token, at) => at % 2 === 1)
  const wellFormed =
    names.length === commas.length + 1 &&
    names.every((token) => token.type === 'Identifier' && !RESERVED.has(token.value)) &&
    commas.every((token) => token.type === 'Comma')
  if (!wellFormed) throw syntaxError('the left side must be a name, or names separated by commas', code)
  return names.map((token) => token.value)
}

function syntaxError(detail: string, code: Code): ExprError {
  return new ExprError('expr_syntax', detail, code.place)
}
