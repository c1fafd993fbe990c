/**
 * Repairs the library's tokens where its grammar is narrower or looser than Jinja2's, so that its parser can be used
 * unchanged:
 *
 * - `x is divisibleby 3` and `x is divisibleby(3)` become the filter call `x | <is divisibleby>(3)`. Its parser accepts
 *   no arguments for tests, and in Jinja2 filters and tests bind equally.
 * - `not in` becomes one comparison token, so that the operator in the tree is a token we know.
 * - `(x,)`, `()` and a bare `a, b` become tuples; `1e3`, `1_000` and `0x1f` become numbers.
 * - Two adjacent operands are refused: its parser treats commas in lists and calls as optional.
 */
import { ExprError } from '../errors.ts'
import { type Token, tokenize } from './jinja.ts'
import type { Code } from './scan.ts'

/** Names that no author can write, because of the space. */
export const TEST_PREFIX = 'is '
export const NEGATED_TEST_PREFIX = 'is not '
export const TUPLE_FILTER = 'as tuple'

const WORD_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else'])
const EXPRESSION_TOKENS: ReadonlySet<string> = new Set([
  'NumericLiteral',
  'StringLiteral',
  'Identifier',
  'Equals',
  'OpenParen',
  'CloseParen',
  'OpenSquareBracket',
  'CloseSquareBracket',
  'OpenCurlyBracket',
  'CloseCurlyBracket',
  'Comma',
  'Dot',
  'Colon',
  'Pipe',
  'AdditiveBinaryOperator',
  'MultiplicativeBinaryOperator',
  'ExponentiationBinaryOperator',
  'ComparisonBinaryOperator',
  'UnaryOperator',
])

const OPEN_PAREN: Token = { value: '(', type: 'OpenParen' }
const CLOSE_PAREN: Token = { value: ')', type: 'CloseParen' }
const OPEN_LIST: Token = { value: '[', type: 'OpenSquareBracket' }
const CLOSE_LIST: Token = { value: ']', type: 'CloseSquareBracket' }
const PIPE: Token = { value: '|', type: 'Pipe' }

export function tokensOf(code: Code): readonly Token[] {
  let tokens: readonly Token[]
  try {
    tokens = tokenize(code.text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ExprError(
      'expr_syntax',
      `${reason}; expressions are written as in Jinja2: and, or, not, ==, ~, | filter`,
      code.place,
    )
  }
  const stray = tokens.find((token) => !EXPRESSION_TOKENS.has(token.type))
  if (stray !== undefined) throw unexpected(stray, code)
  return tokens.map((token) =>
    token.type === 'StringLiteral' ? { value: code.strings[Number(token.value)] ?? '', type: token.type } : token,
  )
}

export function unexpected(token: Token | null, code: Code): ExprError {
  const what = token === null ? 'the expression ends too early' : `\`${token.value}\` is not expected here`
  return new ExprError('expr_syntax', what, code.place)
}

/** Everything above, on the tokens of one expression. */
export function repair(tokens: readonly Token[], code: Code): readonly Token[] {
  const repaired = rewriteTests(mergeNumbers(mergeNotIn(tokens)), code)
  refuseNeighbours(repaired, code)
  return rewriteTuples(topLevel(repaired, 'Comma') < 0 ? repaired : [OPEN_PAREN, ...repaired, CLOSE_PAREN])
}

/** Position of the first token of this type (and value) outside all brackets, -1 if there is none. */
export function topLevel(tokens: readonly Token[], type: string, value?: string): number {
  let depth = 0
  return tokens.findIndex((token) => {
    depth += opens(token) ? 1 : closes(token) ? -1 : 0
    return depth === 0 && token.type === type && (value === undefined || token.value === value)
  })
}

/** The enclosing bracket of each token. Distinguishes `a < b < c` from `(a < b) < c`, which have the same tree. */
export function bracketOf(tokens: readonly Token[]): ReadonlyMap<Token, number> {
  const brackets = new Map<Token, number>()
  const stack = [0]
  let count = 0
  for (const token of tokens) {
    if (opens(token)) stack.push(++count)
    else if (closes(token)) stack.pop()
    else brackets.set(token, stack.at(-1) ?? 0)
  }
  return brackets
}

function opens(token: Token): boolean {
  return token.type === 'OpenParen' || token.type === 'OpenSquareBracket' || token.type === 'OpenCurlyBracket'
}

function closes(token: Token): boolean {
  return token.type === 'CloseParen' || token.type === 'CloseSquareBracket' || token.type === 'CloseCurlyBracket'
}

function isWord(tokens: readonly Token[], at: number, word: string): boolean {
  const token = tokens[at]
  return token?.type === 'Identifier' && token.value === word && tokens[at - 1]?.type !== 'Dot'
}

function isWordOperator(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at]
  return token?.type === 'Identifier' && WORD_OPERATORS.has(token.value) && tokens[at - 1]?.type !== 'Dot'
}

function mergeNotIn(tokens: readonly Token[]): readonly Token[] {
  const merged: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    if (isWord(tokens, at, 'not') && isWord(tokens, at + 1, 'in') && !isWord(tokens, at - 1, 'is')) {
      merged.push({ value: 'not in', type: 'ComparisonBinaryOperator' })
      at += 1
    } else merged.push(tokens[at] as Token)
  }
  return merged
}

/** 0x1f, 0b11, 0o17: the tokenizer returns a 0 and a word. */
const BASED = /^(?:[xX](?:_?[\da-fA-F])+|[bB](?:_?[01])+|[oO](?:_?[0-7])+)$/

function mergeNumbers(tokens: readonly Token[]): readonly Token[] {
  const merged: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token
    const word = token.type === 'NumericLiteral' && tokens[at + 1]?.type === 'Identifier' ? tokens[at + 1]?.value : null
    const signedExponent =
      tokens[at + 2]?.type === 'AdditiveBinaryOperator' && tokens[at + 3]?.type === 'NumericLiteral'
    if (word && BASED.test(word) && /^-?0$/.test(token.value)) {
      const sign = token.value.startsWith('-') ? '-' : ''
      merged.push({ value: sign + String(Number(`0${word.replaceAll('_', '')}`)), type: token.type })
      at += 1
    } else if (word && /^(_\d+)+$/.test(word)) {
      merged.push({ value: token.value + word.replaceAll('_', ''), type: token.type })
      at += 1
    } else if (word && /^[eE]\d+$/.test(word)) {
      merged.push({ value: withExponent(token.value, word.slice(1)), type: token.type })
      at += 1
    } else if (word && /^[eE]$/.test(word) && signedExponent) {
      merged.push({
        value: withExponent(token.value, `${tokens[at + 2]?.value}${tokens[at + 3]?.value}`),
        type: token.type,
      })
      at += 3
    } else merged.push(token)
  }
  return merged
}

/** The parser treats a number as a float when it has a point. */
function withExponent(digits: string, exponent: string): string {
  return `${digits.includes('.') ? digits : `${digits}.0`}e${exponent}`
}

function rewriteTests(tokens: readonly Token[], code: Code): readonly Token[] {
  const rewritten: Token[] = []
  let at = 0
  while (at < tokens.length) {
    if (!isWord(tokens, at, 'is')) {
      rewritten.push(tokens[at++] as Token)
      continue
    }
    const negated = isWord(tokens, at + 1, 'not')
    at += negated ? 2 : 1
    const name = tokens[at++]
    if (name?.type !== 'Identifier') {
      throw new ExprError('expr_syntax', '`is` needs the name of a test, such as `is defined`', code.place)
    }
    if (isWord(tokens, at, 'is')) {
      throw new ExprError('expr_syntax', '`is` cannot follow a test: put the first one in parentheses', code.place)
    }
    rewritten.push(PIPE, { value: (negated ? NEGATED_TEST_PREFIX : TEST_PREFIX) + name.value, type: 'Identifier' })
    if (!startsOperand(tokens, at) && tokens[at]?.type !== 'OpenSquareBracket') continue
    const end = endOfOperand(tokens, at)
    rewritten.push(OPEN_PAREN, ...rewriteTests(tokens.slice(at, end), code), CLOSE_PAREN)
    at = end
  }
  return rewritten
}

/** One operand with what follows it: `.name`, `[…]` and `(…)`. */
function endOfOperand(tokens: readonly Token[], start: number): number {
  let at = afterGroup(tokens, start)
  while (at < tokens.length) {
    const type = tokens[at]?.type
    if (type === 'Dot') at += 2
    else if (type === 'OpenSquareBracket' || type === 'OpenParen') at = afterGroup(tokens, at)
    else break
  }
  return at
}

function afterGroup(tokens: readonly Token[], start: number): number {
  let depth = 0
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] as Token
    depth += opens(token) ? 1 : closes(token) ? -1 : 0
    if (depth === 0) return at + 1
  }
  return tokens.length
}

function startsOperand(tokens: readonly Token[], at: number): boolean {
  const type = tokens[at]?.type
  if (type === 'Identifier') return !isWordOperator(tokens, at)
  return type === 'NumericLiteral' || type === 'StringLiteral' || type === 'OpenCurlyBracket'
}

function endsOperand(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at]
  if (token === undefined) return false
  if (token.type === 'Identifier') return !isWordOperator(tokens, at)
  return token.type === 'NumericLiteral' || token.type === 'StringLiteral' || closes(token)
}

function refuseNeighbours(tokens: readonly Token[], code: Code): void {
  tokens.forEach((token, at) => {
    const before = tokens[at - 1]
    // In a list its parser would treat the bracket as the next item.
    if (token.type === 'OpenSquareBracket' && tokens[at - 2]?.type === 'Pipe') throw unexpected(token, code)
    const bothText = before?.type === 'StringLiteral' && token.type === 'StringLiteral'
    const afterDot = before?.type === 'Dot' && token.type === 'OpenParen'
    if (!afterDot && (bothText || !endsOperand(tokens, at - 1) || !startsOperand(tokens, at))) return
    const detail = `an operator or a comma is missing between \`${before?.value}\` and \`${token.value}\``
    throw new ExprError('expr_syntax', detail, code.place)
  })
}

function rewriteTuples(tokens: readonly Token[]): readonly Token[] {
  const rewritten: Token[] = []
  const starts: { readonly at: number; readonly grouping: boolean; commas: number }[] = []
  tokens.forEach((token, at) => {
    const open = starts.at(-1)
    if (opens(token)) {
      const grouping = token.type === 'OpenParen' && !endsOperand(tokens, at - 1)
      starts.push({ at: rewritten.length, grouping, commas: 0 })
    } else if (closes(token)) {
      starts.pop()
      const trailing = tokens[at - 1]?.type === 'Comma'
      const empty = opens(tokens[at - 1] as Token)
      if (open?.grouping && (empty || (trailing && open.commas === 1))) {
        if (trailing) rewritten.pop()
        rewritten.splice(open.at + 1, 0, OPEN_LIST)
        rewritten.push(CLOSE_LIST, PIPE, { value: TUPLE_FILTER, type: 'Identifier' })
      } else if (open?.grouping && trailing) rewritten.pop()
    } else if (token.type === 'Comma' && open !== undefined) open.commas++
    rewritten.push(token)
  })
  return rewritten
}
