/**
 * A definition file as its author wrote it: the value, and the place of each part in the text. Valid JSON is read as
 * such; mistakes in other JSON are reported by the YAML reader.
 */

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml'
import { INEXACT_HINT, inexactNumber, inexactText } from '../../kernel/exact-numbers.ts'
import { MAX_DEFINITION_BYTES } from '../../kernel/limits.ts'
import { type Mistake, type Path, pathText } from '../../kernel/reading/mistakes.ts'
import { readJson } from './json-text.ts'
import { DefinitionError, type LocatedMistake, type TextPlace } from './mistakes.ts'

export interface Source {
  readonly file: string
  readonly value: unknown
  locate(path: Path, onKey?: boolean): TextPlace
}

/** Further errors usually follow from the first few. */
const MAX_SYNTAX_ERRORS = 5
/** Further mistakes are not useful to a reader; the first ones are shown. */
const MAX_MISTAKES = 1_000
/** Each alias is looked up among all of them. */
const MAX_ALIASES = 5_000
/** Parts of the value of a file after its aliases are expanded: they multiply what is written once. */
const MAX_PARTS = 2_000_000

export function readSource(file: string, text: string): Source {
  if (Buffer.byteLength(text) > MAX_DEFINITION_BYTES) {
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
    const inexact = inexactNumber(text)
    if (inexact !== null) {
      const mistake = { path: inexact.path, message: inexactText(inexact), hint: INEXACT_HINT }
      throw new DefinitionError(file, locateMistakes(source, [mistake]))
    }
    refuseUnstorable(source, text)
    return source
  }
  const document = parse(file, text, lines)
  const problems: LocatedMistake[] = document.errors
    .slice(0, MAX_SYNTAX_ERRORS)
    .map((error) => mistakeAt(at(error.pos[0]), firstLine(error.message), syntaxHint(error.code)))
  if (problems.length === 0) problems.push(...oddKeys(document, at), ...keysTwice(document, at))
  const aliases = oddAliases(document, at)
  if (problems.length === 0) problems.push(...aliases.mistakes, ...oddNumbers(document, text, at))
  if (problems.length > 0) throw new DefinitionError(file, problems.slice(0, MAX_MISTAKES))
  const offsets = new Offsets(document)
  const source = {
    file,
    value: toValue(file, document, aliases.count),
    locate: (path: Path, onKey?: boolean) => at(offsets.of(path, onKey ?? false)),
  }
  refuseUnstorable(source, text)
  return source
}

/** -1: this is the last line. */
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
    .slice(0, MAX_MISTAKES)
}

function parse(file: string, text: string, lineCounter: LineCounter): Document {
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, merge: true, uniqueKeys: false })
    // A stack overflow while the parser builds a value is only noted.
    if (!document.errors.some(({ message }) => message.startsWith('Maximum call stack'))) return document
  } catch (error) {
    // The parser recurses; a file nested thousands of levels deep exhausts the stack.
    if (!(error instanceof RangeError)) throw error
  }
  throw new DefinitionError(file, [mistakeAt({ line: 1, column: 1 }, 'the file is nested too deeply', 'fewer levels')])
}

function toValue(file: string, document: Document, aliases: number): unknown {
  try {
    const value: unknown = document.toJS()
    if (aliases > 0) countParts(value)
    return value
  } catch (error) {
    // Aliases that multiply each other.
    const message = error instanceof Error ? firstLine(error.message) : String(error)
    throw new DefinitionError(file, [
      mistakeAt({ line: 1, column: 1 }, message, 'write out what the aliases stand for'),
    ])
  }
}

/**
 * `args: {{ input.x }}` is a mapping to YAML, not a template: the message explains that instead of naming its odd key.
 */
function oddKeys(document: Document, at: (offset: number) => TextPlace): LocatedMistake[] {
  const found: LocatedMistake[] = []
  visit(document, {
    Pair: (_, pair) => {
      if (!isMap(pair.key) && !isSeq(pair.key)) return undefined
      const place = at(pair.key.range?.[0] ?? 0)
      found.push(
        isMap(pair.key)
          ? mistakeAt(place, 'a template needs quotes: without them YAML reads {{ … }} as a mapping', `write "{{ … }}"`)
          : mistakeAt(place, 'a list cannot be a key', 'write a string'),
      )
      return visit.SKIP
    },
  })
  return found
}

/** Sixteen digits in a row, an exponent of three, or the YAML words for values that JSON does not have. */
const ODD_NUMBER = /\d{16}|[\d.][eE]\+?\d{3}|0x[0-9a-f]{13}|0o\d{18}|\.(inf|nan)\b/i

/** Numbers that a double or JSON cannot represent: they would be stored as others, or as null. */
function oddNumbers(document: Document, text: string, at: (offset: number) => TextPlace): LocatedMistake[] {
  if (!ODD_NUMBER.test(text)) return []
  const found: LocatedMistake[] = []
  visit(document, {
    Scalar: (_, { value, source, range }) => {
      if (typeof value !== 'number' || (Number.isFinite(value) && isExact(value, source ?? ''))) return
      const message = inexactText({ path: [], text: source ?? String(value) })
      found.push(mistakeAt(at(range?.[0] ?? 0), message, INEXACT_HINT))
    },
  })
  return found
}

/** The target of an alias is in the value as often as it is named, though in memory only once. */
function countParts(value: unknown): void {
  const todo: unknown[] = [value]
  for (let parts = 1; todo.length > 0; ) {
    const one = todo.pop()
    if (typeof one !== 'object' || one === null) continue
    const inside = Object.values(one)
    parts += inside.length
    if (parts > MAX_PARTS)
      throw new Error(`aliases make more than ${MAX_PARTS.toLocaleString('en')} values of the file`)
    for (const part of inside) todo.push(part)
  }
}

/** Instead of the parser's own check, which compares each key with all before it. */
function keysTwice(document: Document, at: (offset: number) => TextPlace): LocatedMistake[] {
  const found: LocatedMistake[] = []
  visit(document, {
    Map: (_, map, ancestors) => {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key
        if (!seen.has(name) || name === '<<') {
          seen.add(name)
          continue
        }
        const path = [...pathTo([...ancestors, map]), String(name)]
        const hint = 'keep one of the two'
        found.push({ ...at(rangeStart(key) ?? 0), path: pathText(path), message: 'Map keys must be unique', hint })
        if (found.length >= MAX_MISTAKES) return visit.BREAK
      }
      return undefined
    },
  })
  return found
}

function isExact(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) || !/^[-+]?(\d+|0x[0-9a-f]+|0o[0-7]+)$/i.test(source)) return true
  const sign = source.startsWith('-') ? -1n : 1n
  return sign * BigInt(source.replace(/^[-+]/, '').replace(/^0+(?=\d)/, '')) === BigInt(value)
}

/** From the document down to the last of these nodes. */
function pathTo(nodes: readonly unknown[]): Path {
  const path: (string | number)[] = []
  for (const [i, node] of nodes.entries()) {
    const next = nodes[i + 1]
    if (isSeq(node) && next !== undefined) path.push(node.items.indexOf(next as never))
    else if (isPair(node)) path.push(String(isScalar(node.key) ? node.key.value : node.key))
  }
  return path
}

/** Aliases without an anchor before them, or inside their own target, which would never end. */
function oddAliases(
  document: Document,
  at: (offset: number) => TextPlace,
): { readonly mistakes: readonly LocatedMistake[]; readonly count: number } {
  const found: LocatedMistake[] = []
  const anchored = new Map<string, unknown>()
  let count = 0
  let anchors = 0
  visit(document, {
    Value: (_, node) => {
      if (node.anchor === undefined) return
      anchored.set(node.anchor, node)
      anchors++
    },
    Alias: (_, { source, range }, path) => {
      if (++count + anchors > MAX_ALIASES) {
        const message = `more than ${MAX_ALIASES.toLocaleString('en')} anchors and aliases`
        found.push(mistakeAt(at(range?.[0] ?? 0), message, 'write out what the aliases stand for'))
        return visit.BREAK
      }
      const named = anchored.get(source) as (typeof path)[number] | undefined
      if (named !== undefined && !path.includes(named)) return undefined
      const message =
        named === undefined ? `no '&${source}' comes before '*${source}'` : `'*${source}' is inside its own target`
      found.push(mistakeAt(at(range?.[0] ?? 0), message, 'write out what is meant'))
      return found.length >= MAX_MISTAKES ? visit.BREAK : undefined
    },
  })
  return { mistakes: found, count }
}

/** Characters that only an escape or a broken editor produces; no store accepts them. */
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

/** The places of a document's parts in its text. Each mapping is read once, however many places are requested. */
class Offsets {
  readonly #document: Document
  readonly #pairs = new Map<YAMLMap, Map<string, Pair>>()

  constructor(document: Document) {
    this.#document = document
  }

  /** The nearest part of the text that has a place of its own: aliases and merged keys have none. */
  of(path: Path, onKey: boolean): number {
    let node: unknown = this.#document.contents
    let offset = rangeStart(node) ?? 0
    for (const [i, part] of path.entries()) {
      if (isAlias(node)) node = node.resolve(this.#document)
      if (isMap(node)) {
        const pair = this.#pairsOf(node).get(String(part))
        if (pair === undefined) return offset
        const key = rangeStart(pair.key)
        const value = rangeStart(pair.value)
        node = pair.value
        const last = i === path.length - 1
        offset = (last && onKey ? key : (value ?? key)) ?? offset
        // An empty value begins at the next line; its key is more precise.
        if (isEmpty(pair.value) && key !== null) offset = key
      } else if (isSeq(node)) {
        node = node.items[Number(part)]
        offset = rangeStart(node) ?? offset
      } else return offset
    }
    return offset
  }

  #pairsOf(map: YAMLMap): Map<string, Pair> {
    const known = this.#pairs.get(map)
    if (known !== undefined) return known
    const pairs = new Map(map.items.map((p) => [String(isScalar(p.key) ? p.key.value : p.key), p]))
    this.#pairs.set(map, pairs)
    return pairs
  }
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
  if (code === 'MULTIPLE_DOCS') return 'one file holds one definition'
  if (code === 'BAD_INDENT') return 'begin it below the line it belongs to'
  if (code === 'MISSING_CHAR') return 'close what was opened: quotes, brackets or braces'
  return 'look at the indentation, the quotes and the brackets of this line and the one before'
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] as string
}
