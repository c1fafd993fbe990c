import type { Json } from '../net/net.ts'
import { type Budget, DEPTH_LIMIT, Meter } from './budget.ts'
import { ExprError } from './errors.ts'
import { type Face, plainOf } from './evaluate/alias.ts'
import { attribute } from './evaluate/lookup.ts'
import { toJson } from './evaluate/value.ts'
import { named, type Scope, Walk } from './evaluate/walk.ts'
import { Writer } from './evaluate/writer.ts'
import { mergeNames, type Name, namesInBlocks } from './names.ts'
import { parseBlocks } from './parse/blocks.ts'
import { guardSource, scanTemplate } from './parse/scan.ts'
import type { Block, Node, Placed } from './parse/syntax.ts'

export interface Template {
  readonly names: readonly Name[]
  readonly root: Part
}

/** A JSON value in which the strings that are templates are compiled; the rest is returned as it came in. */
type Part =
  | { readonly kind: 'fixed'; readonly value: Json }
  | { readonly kind: 'native'; readonly value: Placed; readonly path: string }
  /** A name and keys below it. Costs no steps: their number depends on the author's text, not on the data. */
  | { readonly kind: 'lookup'; readonly node: Lookup }
  | { readonly kind: 'text'; readonly blocks: readonly Block[]; readonly path: string }
  | { readonly kind: 'array'; readonly items: readonly Part[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Part])[] }

export function compileTemplate(value: Json): Template {
  const names: (readonly Name[])[] = []
  const root = compile(value, '$', 0, names)
  return { names: mergeNames(names), root }
}

function compile(value: Json, path: string, depth: number, names: (readonly Name[])[]): Part {
  if (typeof value === 'string') {
    return value.includes('{{') || value.includes('{%') ? compileText(value, path, names) : { kind: 'fixed', value }
  }
  if (typeof value !== 'object' || value === null) return { kind: 'fixed', value }
  if (depth >= DEPTH_LIMIT) {
    throw new ExprError('expr_budget', `the template nests deeper than ${DEPTH_LIMIT} levels at ${path.slice(0, 80)}`)
  }
  if (Array.isArray(value)) {
    const items = (value as readonly Json[]).map((item, at) => compile(item, `${path}[${at}]`, depth + 1, names))
    return items.every(isFixed) ? { kind: 'fixed', value } : { kind: 'array', items }
  }
  const entries = Object.entries(value).map(
    ([key, item]) => [key, compile(item, `${path}.${key}`, depth + 1, names)] as const,
  )
  return entries.every(([, part]) => isFixed(part)) ? { kind: 'fixed', value } : { kind: 'object', entries }
}

function isFixed(part: Part): boolean {
  return part.kind === 'fixed'
}

interface Text {
  readonly blocks: readonly Block[]
  readonly names: readonly Name[]
}

/** Texts parsed recently: in a large workflow a thousand steps name the same results. */
const parsedTexts = new Map<string, Text>()
const MOST_KEPT = 20_000
const LONGEST_KEPT = 200

function parseText(source: string): Text {
  const known = parsedTexts.get(source)
  if (known !== undefined) return known
  guardSource(source)
  const blocks = parseBlocks(scanTemplate(source))
  const text = { blocks, names: namesInBlocks(blocks) }
  if (source.length > LONGEST_KEPT) return text
  if (parsedTexts.size >= MOST_KEPT) parsedTexts.clear()
  parsedTexts.set(source, text)
  return text
}

function compileText(source: string, path: string, names: (readonly Name[])[]): Part {
  return within(path, () => {
    const { blocks, names: named } = parseText(source)
    names.push(named)
    const [only, ...others] = blocks
    if (only?.kind === 'output' && others.length === 0) {
      const { node } = only.value
      return isLookup(node) ? { kind: 'lookup', node } : { kind: 'native', value: only.value, path }
    }
    return { kind: 'text', blocks, path }
  })
}

type Lookup = Extract<Node, { readonly kind: 'name' | 'attribute' }>

function isLookup(node: Node): node is Lookup {
  return node.kind === 'name' || (node.kind === 'attribute' && isLookup(node.object))
}

/** One budget covers the whole template. */
export function render(template: Template, scope: Scope, budget: Budget = {}): Json {
  const meter = new Meter(budget)
  return renderPart(template.root, scope, meter)
}

function renderPart(part: Part, scope: Scope, meter: Meter): Json {
  switch (part.kind) {
    case 'fixed':
      return part.value
    case 'lookup':
      return toJson(plainOf(lookUp(part.node, scope)), meter)
    case 'native':
      return within(part.path, () => renderNative(part.value, scope, meter))
    case 'text':
      return within(part.path, () => new Writer(scope, meter).text(part.blocks))
    case 'array':
      return part.items.map((item) => renderPart(item, scope, meter))
    case 'object':
      return Object.fromEntries(part.entries.map(([key, item]) => [key, renderPart(item, scope, meter)]))
  }
}

function lookUp(node: Lookup, scope: Scope): Face {
  if (node.kind === 'attribute') return attribute(lookUp(node.object as Lookup, scope), node.name)
  return named(scope, node.name)
}

function renderNative(value: Placed, scope: Scope, meter: Meter): Json {
  try {
    return toJson(new Walk(scope, meter).value(value.node), meter)
  } catch (error) {
    throw error instanceof ExprError ? error.at(value.place) : error
  }
}

function within<T>(path: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw error instanceof ExprError && path !== '$' ? error.inside(path) : error
  }
}
