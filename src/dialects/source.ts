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
    return { file, value: json.value, locate: (path, onKey) => at(json.offsetOf(path, onKey ?? false)) }
  }
  const document = parse(file, text, lines)
  const problems: LocatedMistake[] = document.errors
    .slice(0, MAX_SYNTAX_ERRORS)
    .map((error) => mistakeAt(at(error.pos[0]), firstLine(error.message), syntaxHint(error.code)))
  if (problems.length === 0) problems.push(...unquotedTemplates(document, at))
  if (problems.length > 0) throw new DefinitionError(file, problems)
  return { file, value: toValue(file, document), locate: (path, onKey) => at(offsetOf(document, path, onKey ?? false)) }
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
    return parseDocument(text, { lineCounter, prettyErrors: false })
  } catch (error) {
    // The parser recurses; a file nested thousands of levels deep exhausts the stack.
    if (!(error instanceof RangeError)) throw error
    throw new DefinitionError(file, [
      mistakeAt({ line: 1, column: 1 }, 'the file is nested too deeply', 'fewer levels'),
    ])
  }
}

function toValue(file: string, document: Document): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Aliases that multiply each other, or refer to nothing.
    const message = error instanceof Error ? firstLine(error.message) : String(error)
    throw new DefinitionError(file, [
      mistakeAt({ line: 1, column: 1 }, message, 'write out what the aliases stand for'),
    ])
  }
}

/** `args: {{ input.x }}` is a mapping to YAML, not a template: say so instead of complaining about its odd key. */
function unquotedTemplates(document: Document, at: (offset: number) => TextPlace): LocatedMistake[] {
  const found: LocatedMistake[] = []
  visit(document, {
    Pair: (_, pair) => {
      if (!isMap(pair.key) && !isSeq(pair.key)) return undefined
      const place = at(pair.key.range?.[0] ?? 0)
      found.push(
        mistakeAt(place, 'a template needs quotes: without them YAML reads {{ … }} as a mapping', `write "{{ … }}"`),
      )
      return visit.SKIP
    },
  })
  return found
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
