/**
 * Removes secrets from everything that leaves a pipeline. Every text and key is searched for the secret as it is, as
 * JSON escapes it, as URLs and forms write it, in base64 (also as part of something longer, such as `user:secret`),
 * and, if it has several lines, for each line. A number is a secret only if it is one from end to end. A long text that
 * ends in the middle of a secret, or begins there, was cut before it was passed in: that piece is removed too.
 *
 * Most values contain no secret: that is determined by searching their JSON text once per form, which takes a fraction
 * of a millisecond per megabyte, and they are returned unchanged.
 */
import type { Logger } from '../../../kernel/logger.ts'
import type { Json } from '../../../net/net.ts'

export const REDACTED = '***'

/** Shorter texts occur in anything. */
const SHORTEST = 4
const SHORTEST_LINE = 8
/** Shortest piece of base64: long enough that no ordinary text contains it by accident. */
const SHORTEST_PIECE = 6
const SHORTEST_NUMBER = 6
/** Shortest piece of a cut secret, and of the texts searched for one: no code cuts shorter ones. */
const SHORTEST_CUT = 6
const SHORTEST_CUT_TEXT = 100
const DEEPEST_LOG = 6

interface Form {
  readonly text: string
  /** The form within JSON text. */
  readonly escaped: string
  /** Within JSON text: its beginning and its end. null: pieces of it are not searched for. */
  readonly edges: readonly [begin: string, end: string] | null
}

export class Redactor {
  readonly #secrets = new Set<string>()
  /** The longest first: the rest of a secret after a shorter one was cut out of it would reveal it. */
  #forms: readonly Form[] = []
  #numbers: ReadonlySet<string> = new Set()

  constructor(secrets: Iterable<string>) {
    this.hide(...secrets)
  }

  /** Secrets that became known later; values returned before may contain them. */
  hide(...secrets: readonly string[]): void {
    const before = this.#secrets.size
    for (const secret of secrets) this.#secrets.add(secret)
    if (this.#secrets.size === before) return
    const all = [...this.#secrets]
    const plain = new Set(all.flatMap(partsOf))
    const texts = new Set([...plain].flatMap(writings))
    this.#forms = [...texts]
      .sort((a, b) => b.length - a.length)
      .map((text) => ({ text, escaped: jsonEscaped(text), edges: plain.has(text) ? edgesOf(text) : null }))
    this.#numbers = new Set(all.filter((text) => text.length >= SHORTEST_NUMBER && /^-?[\d.]+$/.test(text)))
  }

  text(text: string): string {
    return cut(text, this.#forms)
  }

  /** Returns the same value if it contains no secret. `text`: its JSON text, if the caller has it already. */
  json<T extends Json>(value: T, text?: string): T {
    if (this.#forms.length === 0) return value
    if (typeof value === 'string') return this.text(value) as T
    if (typeof value === 'number') return this.#number(value) as T
    if (typeof value !== 'object' || value === null) return value
    const written = text ?? JSON.stringify(value)
    const found = this.#forms.filter(
      ({ escaped, edges }) => written.includes(escaped) || edges?.some((edge) => written.includes(edge)),
    )
    const numbers = [...this.#numbers].some((number) => written.includes(number))
    return found.length === 0 && !numbers ? value : (this.#walk(value, found) as T)
  }

  /** Lines of a log: a program may pass any value to its logger, errors among them. */
  logger(logger: Logger): Logger {
    const line = (level: keyof Logger) => (context: object, message: string) =>
      logger[level](this.#logged(context, 0) as object, this.text(message))
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  #number(value: number): Json {
    return this.#numbers.has(String(value)) ? REDACTED : value
  }

  #walk(value: Json, forms: readonly Form[]): Json {
    if (typeof value === 'string') return cut(value, forms)
    if (typeof value === 'number') return this.#number(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => this.#walk(item, forms))
    const clean = new Map<string, Json>()
    for (const [key, item] of Object.entries(value)) {
      const name = cut(key, forms)
      // Two keys that become equal must not lose a value.
      const free = clean.has(name) ? `${name} (${clean.size + 1})` : name
      clean.set(free, this.#walk(item, forms))
    }
    return Object.fromEntries(clean)
  }

  #logged(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.#number(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= DEEPEST_LOG) return '…'
    if (value instanceof Error) {
      const { name, message, stack, ...rest } = value
      return this.#logged(
        { type: value.name ?? name, message: value.message ?? message, stack: value.stack ?? stack, ...rest },
        depth,
      )
    }
    if (Array.isArray(value)) return value.map((item) => this.#logged(item, depth + 1))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key), this.#logged(item, depth + 1)]),
    )
  }
}

function cut(text: string, forms: readonly Form[]): string {
  let clean = text
  for (const form of forms) if (clean.includes(form.text)) clean = clean.replaceAll(form.text, REDACTED)
  return clean.length < SHORTEST_CUT_TEXT ? clean : forms.reduce(withoutPieces, clean)
}

/** Without the end of a secret at the beginning of the text, and the beginning of one at its end. */
function withoutPieces(text: string, { text: secret, edges }: Form): string {
  if (edges === null) return text
  const head = endOfPiece(text, secret)
  const rest = head === 0 ? text : REDACTED + text.slice(head)
  const tail = startOfPiece(rest, secret)
  return tail === rest.length ? rest : rest.slice(0, tail) + REDACTED
}

function endOfPiece(text: string, secret: string): number {
  const window = text.slice(0, secret.length - 1)
  const last = secret.slice(-SHORTEST_CUT)
  for (let at = window.lastIndexOf(last); at >= 0; at = at === 0 ? -1 : window.lastIndexOf(last, at - 1)) {
    const end = at + last.length
    if (secret.endsWith(window.slice(0, end))) return end
  }
  return 0
}

function startOfPiece(text: string, secret: string): number {
  const from = Math.max(0, text.length - secret.length + 1)
  const first = secret.slice(0, SHORTEST_CUT)
  for (let at = text.indexOf(first, from); at >= 0; at = text.indexOf(first, at + 1)) {
    if (secret.startsWith(text.slice(at))) return at
  }
  return text.length
}

function edgesOf(secret: string): Form['edges'] {
  if (secret.length <= SHORTEST_CUT) return null
  return [jsonEscaped(secret.slice(0, SHORTEST_CUT)), jsonEscaped(secret.slice(-SHORTEST_CUT))]
}

/** The parts of a secret that are secrets by themselves. */
function partsOf(secret: string): readonly string[] {
  const lines = secret.includes('\n') ? secret.split(/\r?\n/).filter((line) => line.trim().length >= SHORTEST_LINE) : []
  return [secret, ...lines].filter((text) => text.length >= SHORTEST)
}

function writings(text: string): readonly string[] {
  const url = encoded(text)
  const form = url.replaceAll('%20', '+')
  return [
    text,
    jsonEscaped(text),
    jsonEscaped(jsonEscaped(text)),
    url,
    lowerEscapes(url),
    form,
    lowerEscapes(form),
    ...asParsed(text),
    ...base64Of(text),
  ]
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    // Half of a surrogate pair.
    return text
  }
}

/** As a parsed URL is written, which escapes less: the text may have been inserted without any escaping. */
function asParsed(text: string): readonly string[] {
  const { search } = new URL(`http://h/?${text.replaceAll('#', '%23')}`)
  const { pathname } = new URL(`http://h/${text.replaceAll('#', '%23').replaceAll('?', '%3F')}`)
  return [search.slice(1), pathname.slice(1)].filter((written) => written.length >= SHORTEST)
}

function lowerEscapes(url: string): string {
  return url.replace(/%[0-9A-F]{2}/g, (escapeCode) => escapeCode.toLowerCase())
}

/**
 * Base64 writes three bytes as four characters, so a text within a longer one may begin at any of three positions. For
 * each: the characters that depend on no neighbour.
 */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  const whole = bytes.toString('base64').replaceAll('=', '')
  const pieces = [0, 1, 2].map((before) => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const end = Math.floor(((before + bytes.length) * 8) / 6)
    return shifted.slice(Math.ceil((before * 8) / 6), end)
  })
  const all = [whole, ...pieces.filter((piece) => piece.length >= SHORTEST_PIECE)]
  return all.flatMap((piece) => [piece, piece.replaceAll('+', '-').replaceAll('/', '_')])
}
