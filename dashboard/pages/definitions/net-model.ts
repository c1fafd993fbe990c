/** A net as a list of its nodes, and the difference of two. */
import type { Net, Node, RunWork } from '../../../src/net/net.ts'

export interface NodeLine {
  readonly key: string
  readonly kind: Node['work']['kind']
  /** What it does, in words. */
  readonly what: string
  readonly next: readonly { readonly to: string; readonly when: string | null }[]
  readonly isEntry: boolean
  /** When it runs at the end; null: it is no final. */
  readonly final: 'always' | 'success' | 'failure' | null
  readonly undo: string | null
}

export function outlineOf({ nodes, entry, finals }: Net): readonly NodeLine[] {
  const first = new Set(entry)
  return nodes.map((node) => ({
    key: node.key,
    kind: node.work.kind,
    what: whatOf(node.work),
    next: node.next.arcs.map(({ to, when }) => ({ to, when })),
    isEntry: first.has(node.key),
    final: finals.find((final) => final.node === node.key)?.when ?? null,
    undo: node.undo?.work.type ?? null,
  }))
}

function whatOf(work: Node['work']): string {
  switch (work.kind) {
    case 'run':
      return runText(work)
    case 'gate':
      return titleOf(work.options) ?? 'a decision'
    case 'child':
      return `nested workflow, ${work.mode}`
    case 'each':
      return `for each of ${work.items ?? 'its items'}: ${eachText(work.body)}`
    case 'pass':
      return 'only routes'
  }
}

function runText({ type, queue }: RunWork): string {
  return queue === 'default' || queue === type ? type : `${type} on ${queue}`
}

function eachText(body: RunWork | { readonly kind: 'child' } | null): string {
  if (body === null) return 'as each item names'
  return body.kind === 'run' ? runText(body) : 'a nested workflow'
}

function titleOf(options: unknown): string | null {
  const title = (options as { readonly title?: unknown } | null)?.title
  return typeof title === 'string' ? title : null
}

export interface NetDiff {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** With the members that differ. */
  readonly changed: readonly { readonly key: string; readonly members: readonly string[] }[]
  /** Nodes that do the same, and continue elsewhere: a picture shows that as arrows. */
  readonly rerouted: readonly string[]
  /** Members of the net itself. */
  readonly settings: readonly string[]
}

export function netDiff(before: Net, after: Net): NetDiff {
  const old = new Map(before.nodes.map((node) => [node.key, node]))
  const current = new Map(after.nodes.map((node) => [node.key, node]))
  const kept = [...current].flatMap(([key, node]) => {
    const was = old.get(key)
    const members = was === undefined ? [] : differing(was, node, [])
    return members.length === 0 ? [] : [{ key, members }]
  })
  const isRerouted = ({ members }: { readonly members: readonly string[] }): boolean =>
    members.length === 1 && members[0] === 'next'
  return {
    added: [...current.keys()].filter((key) => !old.has(key)),
    removed: [...old.keys()].filter((key) => !current.has(key)),
    changed: kept.filter((one) => !isRerouted(one)),
    rerouted: kept.filter(isRerouted).map(({ key }) => key),
    settings: differing(before, after, ['nodes']),
  }
}

function differing(before: object, after: object, except: readonly string[]): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter(
    (name) =>
      !except.includes(name) &&
      canonical((before as Record<string, unknown>)[name]) !== canonical((after as Record<string, unknown>)[name]),
  )
}

/** Regardless of the order of members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

export interface StartInput {
  /** The JSON Schema of the input; null: none is known, any JSON is accepted. */
  readonly schema: unknown
  /** The step that the schema belongs to. */
  readonly node: string | null
  /** What the input is laid over. */
  readonly defaults: unknown
}

/**
 * The schema of a first step describes the input of the workflow if that step receives it as a whole. There is no schema
 * of the input as such.
 */
export function startInputOf({ nodes, entry, input }: Net): StartInput {
  const first = nodes.filter(({ key }) => entry.includes(key))
  const found = first.find(({ work, schema }) => {
    if (schema?.input == null || work.kind !== 'run') return false
    let args: unknown = work.args
    for (const name of schema.input.path) args = (args as Record<string, unknown> | null)?.[name]
    return typeof args === 'string' && /^\{\{\s*input\s*\}\}$/.test(args)
  })
  return { schema: found?.schema?.input?.schema ?? null, node: found?.key ?? null, defaults: input }
}
