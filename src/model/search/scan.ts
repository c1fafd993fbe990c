/** Cuts the text of a query into filters. What the fields mean is decided by parse.ts. */
import { PetrelError } from '../../kernel/errors.ts'
import { MAX_QUERY_FILTERS, MAX_QUERY_LENGTH, MAX_QUERY_VALUES } from '../../kernel/limits.ts'

export interface ScannedValue {
  readonly text: string
  /** Position of its first character in the query. */
  readonly offset: number
  readonly quoted: boolean
}

export interface ScannedFilter {
  readonly field: string
  readonly not: boolean
  readonly offset: number
  readonly values: readonly ScannedValue[]
}

export interface Mistake {
  /** Position of the mistake in the query, counted from 0. */
  readonly offset: number
  /** The wrong part. */
  readonly word: string
  readonly problem: string
  /** What would be right. */
  readonly hint: string
  readonly meant?: string | null
}

/** The error for a query: what is wrong, where, and what would be right. */
export function mistaken({ offset, word, problem, hint, meant = null }: Mistake): PetrelError {
  const suggestion = meant === null ? '' : `; did you mean '${meant}'?`
  const at = word === '' ? `character ${offset + 1}` : `character ${offset + 1}, '${shortened(word)}'`
  return new PetrelError('invalid_request', `the query is wrong at ${at}: ${problem}${suggestion}`, {
    parameter: 'q',
    offset,
    word: shortened(word),
    did_you_mean: meant,
    hint,
  })
}

function shortened(word: string): string {
  return word.length > 60 ? `${word.slice(0, 59)}…` : word
}

const SPACE = /\s/
const EXAMPLE = 'such as state:failed name:order* -tag:test'

export function scan(text: string): readonly ScannedFilter[] {
  if (text.length > MAX_QUERY_LENGTH) {
    throw mistaken({
      offset: MAX_QUERY_LENGTH,
      word: '',
      problem: `it has ${text.length} characters`,
      hint: `A query has at most ${MAX_QUERY_LENGTH} characters.`,
    })
  }
  const unstorable = text.search(/[\0\p{Surrogate}]/u)
  if (unstorable >= 0) {
    throw mistaken({
      offset: unstorable,
      word: '',
      problem: 'no value can contain this character',
      hint: 'Leave it out.',
    })
  }
  return new Scanner(text).filters()
}

class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  filters(): readonly ScannedFilter[] {
    const found: ScannedFilter[] = []
    for (this.#skipSpaces(); this.#at < this.#text.length; this.#skipSpaces()) {
      if (found.length === MAX_QUERY_FILTERS) {
        throw mistaken({
          offset: this.#at,
          word: this.#word(this.#at),
          problem: 'there are too many filters',
          hint: `A query has at most ${MAX_QUERY_FILTERS} filters; a comma means or: state:failed,cancelled`,
        })
      }
      found.push(this.#filter())
    }
    return found
  }

  #filter(): ScannedFilter {
    const offset = this.#at
    const not = this.#text[this.#at] === '-'
    if (not) this.#at++
    const begin = this.#at
    while (this.#at < this.#text.length && !/[\s:"]/.test(this.#text[this.#at] as string)) this.#at++
    const field = this.#text.slice(begin, this.#at)
    if (this.#text[this.#at] !== ':' || field === '') {
      const word = this.#word(offset)
      const named = /^-?[\w.-]+$/.test(word) ? `; for a name: ${not ? '-' : ''}name:${word.replace(/^-/, '')}` : ''
      throw mistaken({ offset, word, problem: 'a filter is FIELD:VALUE', hint: `Write filters ${EXAMPLE}${named}` })
    }
    this.#at++
    return { field, not, offset: begin, values: this.#values(field, begin) }
  }

  #values(field: string, offset: number): readonly ScannedValue[] {
    const values = [this.#value(field)]
    while (this.#text[this.#at] === ',') {
      this.#at++
      values.push(this.#value(field))
    }
    if (values.length <= MAX_QUERY_VALUES) return values
    throw mistaken({
      offset,
      word: field,
      problem: `it has ${values.length} values`,
      hint: `A filter has at most ${MAX_QUERY_VALUES} values.`,
    })
  }

  #value(field: string): ScannedValue {
    const offset = this.#at
    const quoted = this.#text[offset] === '"'
    const text = quoted ? this.#quotedText() : this.#plainText()
    if (text !== '' || quoted) return { text, offset, quoted }
    const hint = `Write a value after '${field}:', with quotes if it has spaces: ${field}:"two words"`
    throw mistaken({ offset, word: '', problem: 'a value is missing', hint })
  }

  #plainText(): string {
    const begin = this.#at
    while (this.#at < this.#text.length && !/[\s,"]/.test(this.#text[this.#at] as string)) this.#at++
    if (this.#text[this.#at] === '"') {
      throw mistaken({
        offset: this.#at,
        word: '"',
        problem: 'a quote inside a value',
        hint: 'Write quotes around the whole value, and \\" for a quote in it.',
      })
    }
    return this.#text.slice(begin, this.#at)
  }

  #quotedText(): string {
    const begin = this.#at++
    let text = ''
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] as string
      if (character === '\\' && /["\\]/.test(this.#text[this.#at + 1] ?? '')) text += this.#text[++this.#at]
      else if (character === '"') {
        this.#at++
        this.#expectEnd()
        return text
      } else text += character
    }
    const word = this.#text.slice(begin)
    throw mistaken({ offset: begin, word, problem: 'the quote is not closed', hint: 'Write a quote at its end, too.' })
  }

  #expectEnd(): void {
    const next = this.#text[this.#at]
    if (next === undefined || next === ',' || SPACE.test(next)) return
    const word = this.#word(this.#at)
    throw mistaken({
      offset: this.#at,
      word,
      problem: 'something follows the closing quote',
      hint: 'Write a space between two filters, and \\" for a quote in a value.',
    })
  }

  #skipSpaces(): void {
    while (this.#at < this.#text.length && SPACE.test(this.#text[this.#at] as string)) this.#at++
  }

  #word(from: number): string {
    return /^\S*/.exec(this.#text.slice(from))?.[0] ?? ''
  }
}
