/**
 * A definition file as its author wrote it: the value, and where in the text each part of it stands. JSON that is in
 * order is read as such; what is wrong with other JSON is told as of the YAML it also is.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { readJson } from './json-text.ts'
import { DefinitionError, type LocatedMistake, type Mistake, type Path, pathText, type TextPlace } from './mistakes.ts'

export interface Source {
  readonly file: string
  readonly value: unknown
  locate(path: Path, onKey?: boolean): TextPlace
}

/** A definition is written by hand or by a tool for review; what is larger is data, which belongs into the input. */
const MAX_BYTES = 16 * 1024 * 1024
/** After the first few, the parser only stumbles over its own stumbling. */
const MAX_SYNTAX_ERRORS = 5

export function readSource(file: string, text: string): Source {
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new DefinitionError(file, [
      mistakeAt({ line: 1, column: 1 }, 'the file is larger than 16 MiB', 'pass data as --input'),
    ])
  }
  const lines = new LineCounter()
  const at = (offset: number): TextPlace => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const json = readJson(text)
  if (json !== null) {
    for (let start = 0; start >= 0; start = afterLine(text, start)) lines.addNewLine(start)
    const locate = (path: Path, onKey?: boolean): TextPlace => at(json.offsetOf(path, onKey ?? false))
    const source = { file, value: json.value, locate }
    refuseUnstorable(source, text)
    return source
  }
  const document = parse(file, text, lines)
  const problems: LocatedMistake[] = document.errors
    .slice(0, MAX_SYNTAX_ERRORS)
    .map((error) => mistakeAt(at(error.pos[0]), firstLine(error.message), syntaxHint(error.code)))
  if (problems.length === 0) problems.push(...oddKeys(document, at), ...oddAliases(document, at))
  if (problems.length > 0) throw new DefinitionError(file, problems)
  const source = {
    file,
    value: toValue(file, document),
    locate: (path: Path, onKey?: boolean) => at(offsetOf(document, path, onKey ?? false)),
  }
  refuseUnstorable(source, text)
  return source
}

/** -1: this line is the last. */
function afterLine(text: string, start: number): number {
  const end = text.indexOf('\n', start)
  return end < 0 ? -1 : end + 1
}

export function locateMistakes(source: Source, mistakes: readonly Mistake[]): readonly LocatedMistake[] {
  return mistakes
    .map((m) => ({
      ...source.locate(m.path, m.onKey),
      path: pathText(m.path),
      message: m.message,
      hint: m.hint,
      ...(m.rule === undefined ? {} : { rule: m.rule }),
    }))
    .sort((a, b) => a.line - b.line || a.column - b.column)
}

function parse(file: string, text: string, lineCounter: LineCounter): Document {
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, merge: true })
    // What exhausts the stack while a value is made of the text is only noted.
    if (!document.errors.some(({ message }) => message.startsWith('Maximum call stack'))) return document
  } catch (error) {
    // The parser recurses; a file nested thousands of levels deep exhausts the stack.
    if (!(error instanceof RangeError)) throw error
  }
  throw new DefinitionError(file, [mistakeAt({ line: 1, column: 1 }, 'the file is nested too deeply', 'fewer levels')])
}

function toValue(file: string, document: Document): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Aliases that multiply each other.
    const message = error instanceof Error ? firstLine(error.message) : String(error)
    throw new DefinitionError(file, [
      mistakeAt({ line: 1, column: 1 }, message, 'write out what the aliases stand for'),
    ])
  }
}

/** `args: {{ input.x }}` is a mapping to YAML, not a template: say so instead of complaining about its odd key. */
function oddKeys(document: Document, at: (offset: number) => TextPlace): LocatedMistake[] {
  const found: LocatedMistake[] = []
  visit(document, {
    Pair: (_, pair) => {
      if (!isMap(pair.key) && !isSeq(pair.key)) return undefined
      const place = at(pair.key.range?.[0] ?? 0)
      found.push(
        isMap(pair.key)
          ? mistakeAt(place, 'a template needs quotes: without them YAML reads {{ … }} as a mapping', `write "{{ … }}"`)
          : mistakeAt(place, 'a list cannot be a key', 'write a text'),
      )
      return visit.SKIP
    },
  })
  return found
}

/** Of nothing that came before, or inside what it stands for: an alias without an end. */
function oddAliases(document: Document, at: (offset: number) => TextPlace): LocatedMistake[] {
  const found: LocatedMistake[] = []
  const anchored = new Map<string, unknown>()
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined) anchored.set(node.anchor, node)
    },
    Alias: (_, { source, range }, path) => {
      const named = anchored.get(source) as (typeof path)[number] | undefined
      if (named !== undefined && !path.includes(named)) return
      const message =
        named === undefined
          ? `no '&${source}' comes before '*${source}'`
          : `'*${source}' stands inside what it stands for`
      found.push(mistakeAt(at(range?.[0] ?? 0), message, 'write out what is meant'))
    },
  })
  return found
}

/** What could be written only by an escape, or by an editor that has lost its way; no store keeps it. */
const SUSPICIOUS = /\0|\\0|\\x00|\\[uU]0000|\\u[dD][89a-fA-F]|\p{Cs}/u

function refuseUnstorable(source: Source, text: string): void {
  if (!SUSPICIOUS.test(text)) return
  const mistakes: Mistake[] = []
  const todo: { readonly value: unknown; readonly path: Path }[] = [{ value: source.value, path: [] }]
  for (const { value, path } of todo) {
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
      const message = 'a text with a NUL character or half of a surrogate pair cannot be stored'
      mistakes.push({ path, message, hint: 'leave the character out' })
    } else if (typeof value === 'object' && value !== null) {
      const list = Array.isArray(value)
      for (const [key, item] of Object.entries(value))
        todo.push({ value: item, path: [...path, list ? Number(key) : key] })
    }
  }
  if (mistakes.length > 0) throw new DefinitionError(source.file, locateMistakes(source, mistakes))
}

/** The nearest part of the text that has a place of its own: aliases and merged keys have none. */
function offsetOf(document: Document, path: Path, onKey: boolean): number {
  let node: unknown = document.contents
  let offset = rangeStart(node) ?? 0
  for (const [i, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find((p) => String(isScalar(p.key) ? p.key.value : p.key) === String(part))
      if (pair === undefined) return offset
      const key = rangeStart(pair.key)
      const value = rangeStart(pair.value)
      node = pair.value
      const last = i === path.length - 1
      offset = (last && onKey ? key : (value ?? key)) ?? offset
      // An empty value stands where the next line begins; its key says more.
      if (isEmpty(pair.value) && key !== null) offset = key
    } else if (isSeq(node)) {
      node = node.items[Number(part)]
      offset = rangeStart(node) ?? offset
    } else return offset
  }
  return offset
}

function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.range?.[0] === node.range?.[1]
}

function rangeStart(node: unknown): number | null {
  const range = (node as { readonly range?: readonly number[] | null } | null | undefined)?.range
  return range?.[0] ?? null
}

function mistakeAt(place: TextPlace, message: string, hint: string): LocatedMistake {
  return { ...place, path: '', message, hint }
}

function syntaxHint(code: string): string {
  if (code === 'TAB_AS_INDENT') return 'indent with spaces'
  if (code === 'DUPLICATE_KEY') return 'keep one of the two'
  if (code === 'MULTIPLE_DOCS') return 'one file holds one definition'
  if (code === 'BAD_INDENT') return 'begin it below the line it belongs to'
  if (code === 'MISSING_CHAR') return 'close what was opened: quotes, brackets or braces'
  return 'look at the indentation, the quotes and the brackets of this line and the one before'
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] as string
}
