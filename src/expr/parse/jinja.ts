/**
 * The only importer of @huggingface/jinja: its tokenizer and parser, with the types of their results. The package's own
 * declarations do not resolve under nodenext, so the part we read is declared here.
 */
import * as jinja from '@huggingface/jinja'

export interface Token {
  readonly value: string
  readonly type: string
}

export type Syntax =
  | { readonly type: 'Identifier'; readonly value: string }
  | { readonly type: 'IntegerLiteral' | 'FloatLiteral'; readonly value: number }
  | { readonly type: 'StringLiteral'; readonly value: string }
  | { readonly type: 'ArrayLiteral' | 'TupleLiteral'; readonly value: readonly Syntax[] }
  | { readonly type: 'ObjectLiteral'; readonly value: ReadonlyMap<Syntax, Syntax> }
  | BinarySyntax
  | { readonly type: 'UnaryExpression'; readonly operator: Token; readonly argument: Syntax }
  | { readonly type: 'Ternary'; readonly condition: Syntax; readonly trueExpr: Syntax; readonly falseExpr: Syntax }
  | { readonly type: 'SelectExpression'; readonly lhs: Syntax; readonly test: Syntax }
  | { readonly type: 'FilterExpression'; readonly operand: Syntax; readonly filter: Syntax }
  | { readonly type: 'CallExpression'; readonly callee: Syntax; readonly args: readonly Syntax[] }
  | MemberSyntax
  | SliceSyntax
  | { readonly type: 'KeywordArgumentExpression'; readonly key: { readonly value: string }; readonly value: Syntax }
  | { readonly type: 'SpreadExpression' | 'KeywordSpreadExpression'; readonly argument: Syntax }

export interface BinarySyntax {
  readonly type: 'BinaryExpression'
  readonly operator: Token
  readonly left: Syntax
  readonly right: Syntax
}

export interface MemberSyntax {
  readonly type: 'MemberExpression'
  readonly object: Syntax
  readonly property: Syntax
  readonly computed: boolean
}

export interface SliceSyntax {
  readonly type: 'SliceExpression'
  readonly start: Syntax | undefined
  readonly stop: Syntax | undefined
  readonly step: Syntax | undefined
}

interface Library {
  tokenize(source: string): readonly Token[]
  parse(tokens: readonly Token[]): { readonly body: readonly Syntax[] }
}

const library = jinja as unknown as Library

/** Tokens of one expression without its braces. */
export function tokenize(code: string): readonly Token[] {
  return library.tokenize(`{{ ${code} }}`).slice(1, -1)
}

const OPEN: Token = { value: '{{', type: 'OpenExpression' }
const CLOSE: Token = { value: '}}', type: 'CloseExpression' }

export type Parsed = { readonly syntax: Syntax } | { readonly unexpected: Token | null; readonly tooDeep: boolean }

/** One expression, or the token at which the parser failed (null: the end). */
export function parse(tokens: readonly Token[]): Parsed {
  const wrapped = [OPEN, ...tokens, CLOSE]
  try {
    const [syntax] = library.parse(wrapped).body
    if (syntax !== undefined) return { syntax }
  } catch (error) {
    // A long run of prefix operators costs a stack frame each, and has no brackets that could be counted beforehand.
    if (error instanceof RangeError) return { unexpected: null, tooDeep: true }
  }
  const token = wrapped[furthest(wrapped)]
  return { unexpected: token === undefined || token === CLOSE ? null : token, tooDeep: false }
}

/** The parser's errors carry no position, but the last token it looked at is the one it could not use. */
function furthest(tokens: readonly Token[]): number {
  let last = 0
  const watched = new Proxy(tokens, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) last = Math.max(last, Number(key))
      return Reflect.get(target, key)
    },
  })
  try {
    library.parse(watched)
  } catch {
    // Expected: this second run only finds out how far the parser gets.
  }
  return last
}
