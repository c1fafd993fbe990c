/**
 * The net as a file: `kind: Net`. Nodes are a mapping, work is named by its kind (`run: type`), everything else has a
 * default. docs/definitions.md describes the whole notation.
 */

import { newEvaluator } from '../../expr/index.ts'
import { netHash } from '../../kernel/hash.ts'
import { schemaProblems } from '../../kernel/json-schema.ts'
import type { Path } from '../../kernel/reading/mistakes.ts'
import { closest, type Part } from '../../kernel/reading/part.ts'
import { gateProblems } from '../../model/gates.ts'
import type { Item } from '../../model/start.ts'
import { compileNet, NetError } from '../../net/compile.ts'
import type { Final, Json, Net, Node } from '../../net/net.ts'
import type { Problem } from '../../net/validate/policy.ts'
import { continuationsOf, MIN_INLINE_BYTES } from '../../net/validate/validate.ts'
import type { Definition } from '../source/definition.ts'
import { Reader } from '../source/reader.ts'
import type { Source } from '../source/source.ts'
import { readTags } from '../source/tags.ts'
import type { Build } from './build.ts'
import { readNode } from './node.ts'

const NET_KEYS = [
  'kind',
  'version',
  'name',
  'entry',
  'nodes',
  'finals',
  'onFailure',
  'verdict',
  'unknown',
  'timeout',
  'undoTimeout',
  'held',
  'noMatch',
  'nets',
  'input',
  'meta',
  'tags',
  'defaults',
  'inlineBytes',
  'summary',
  'tells',
]

export function parseNet(source: Source): Definition {
  const reader = new Reader(source)
  const { root } = reader
  const nets = new Map<string, Net>()
  const hashes = new Map<string, string | null>()
  const underWay: string[] = []

  const child = (name: string, from: Part): string | null => {
    const known = hashes.get(name)
    if (known !== undefined) return known
    const part = root.get('nets').get(name)
    if (!part.given) {
      const names = root.get('nets').isObject ? Object.keys(root.get('nets').value as object) : []
      const near = closest(name, names)
      from.wrong(
        `there is no net '${name}'`,
        near === null ? 'nested nets are under `nets:`' : `did you mean '${near}'?`,
      )
      return null
    }
    if (underWay.includes(name)) {
      from.wrong(
        `net '${name}' contains itself: ${[...underWay, name].join(' → ')}`,
        'repeat work with an each or an arc back',
      )
      return null
    }
    underWay.push(name)
    const net = readNet(part, name, new Map())
    underWay.pop()
    const hash = net === null ? null : netHash(net)
    if (net !== null && hash !== null) nets.set(hash, net)
    hashes.set(name, hash)
    return hash
  }

  const nodesOf = (hash: string): readonly string[] => nets.get(hash)?.nodes.map((node) => node.key) ?? []

  const readNet = (part: Part, fallbackName: string, items: Map<string, readonly Item[]>): Net | null => {
    const before = reader.clean
    const build: Build = { reader, child, nodesOf, places: new Map(), items }
    const net = shapeOf(part, fallbackName, build)
    if (!reader.clean && before) return null
    if (reader.clean) checkNet(net, part, build)
    return net
  }

  root.get('version').value === 1 ||
    root.get('version').wrong('the version of this notation is 1', 'write `version: 1`')
  const items = new Map<string, readonly Item[]>()
  const net = readNet(root, nameFromFile(source.file), items)
  for (const [name, part] of root.get('nets').entries('nets')) child(name, part)
  const tags = readTags(root.get('tags'))
  reader.throwIfWrong()
  if (net === null) throw new Error('a net without mistakes was not built')
  const [input, meta] = ['input', 'meta'].map((key) => root.get(key).json()) as [Json | null, Json | null]
  return {
    dialect: 'net',
    name: net.name,
    ...(root.get('name').given ? {} : { named: false }),
    start: {
      net,
      nets: [...nets.values()],
      ...(items.size > 0 ? { items: Object.fromEntries(items) } : {}),
      ...(input === null ? {} : { input }),
      ...(tags.length === 0 ? {} : { tags }),
      ...(meta === null ? {} : { meta }),
    },
  }
}

function shapeOf(part: Part, fallbackName: string, build: Build): Net {
  part.hasOnly(NET_KEYS, 'a net')
  const nodes = readNodes(part.get('nodes'), build)
  const finals = readFinals(part.get('finals'), build)
  const verdict = part.get('verdict')
  if (verdict.given) verdict.hasOnly(['failedOn', 'partial'], 'a verdict')
  return {
    version: 1,
    name: part.get('name').text('name') ?? fallbackName,
    dialect: 'net',
    nodes,
    entry: readEntry(part.get('entry'), nodes, finals, build),
    finals,
    onFailure: part.get('onFailure').choice('onFailure', ['abort', 'compensate', 'retry']) ?? 'abort',
    verdict: {
      failedOn: verdict.get('failedOn').choice('failedOn', ['unhandled', 'any', 'finals', 'first']) ?? 'unhandled',
      partial: verdict.get('partial').flag('partial') ?? false,
    },
    unknown: part.get('unknown').choice('unknown', ['ignore', 'stop', 'undo']) ?? 'ignore',
    timeoutMs: part.get('timeout').duration('timeout'),
    undoTimeoutMs: part.get('undoTimeout').duration('undoTimeout'),
    held: part.get('held').choice('held', ['wait', 'complete']) ?? 'wait',
    noMatch: part.get('noMatch').choice('noMatch', ['end', 'fail']) ?? 'end',
    ...readOptions(part, build),
  }
}

/** Left out of the net where the file does not use them. */
function readOptions(part: Part, build: Build): Pick<Net, 'input' | 'inlineBytes' | 'summary' | 'tells'> {
  if (part.has('defaults')) build.places.set('input', part.get('defaults').path)
  const inlineBytes = part.get('inlineBytes').number('inlineBytes', MIN_INLINE_BYTES)
  return {
    ...(part.has('defaults') ? { input: part.get('defaults').json() } : {}),
    ...(inlineBytes === null ? {} : { inlineBytes }),
    ...(part.get('summary').flag('summary') === true ? { summary: true } : {}),
    ...(part.get('tells').flag('tells') === true ? { tells: true } : {}),
  }
}

function readNodes(part: Part, build: Build): readonly Node[] {
  if (!part.given) {
    part.wrong('a net needs nodes', 'nodes: { first: { run: some.type } }')
    return []
  }
  build.places.set('nodes', part.path)
  return part.entries('nodes').map(([key, node]) => {
    build.places.set(`nodes.${key}`, node.path)
    return readNode(key, node, build)
  })
}

/** If not given: the nodes that nothing leads to, in the order of the file. */
function readEntry(part: Part, nodes: readonly Node[], finals: readonly Final[], build: Build): readonly string[] {
  if (part.given) {
    build.places.set('entry', part.path)
    const items = typeof part.value === 'string' ? [part] : part.items('entry')
    return items.flatMap((item, i) => {
      build.places.set(`entry[${i}]`, item.path)
      return item.text('an entry') ?? []
    })
  }
  const targets = new Set(nodes.flatMap((n) => [...n.next.arcs.map((a) => a.to), ...continuationsOf(n)]))
  const ends = new Set(finals.map((f) => f.node))
  return nodes.map((n) => n.key).filter((key) => !targets.has(key) && !ends.has(key))
}

function readFinals(part: Part, build: Build): readonly Final[] {
  build.places.set('finals', part.path)
  return part.items('finals').map((item, i) => {
    build.places.set(`finals[${i}]`, item.path)
    if (typeof item.value === 'string') return { node: item.value, when: 'always', onFailure: 'fail' }
    item.hasOnly(['node', 'when', 'onFailure'], 'a final')
    if (!item.get('node').given) item.wrong('a final names its node', 'for example { node: report, when: always }')
    return {
      node: item.get('node').text('node') ?? '',
      when: item.get('when').choice('when', ['always', 'success', 'failure']) ?? 'always',
      onFailure: item.get('onFailure').choice('onFailure', ['fail', 'partial']) ?? 'fail',
    }
  })
}

/** The net's own rules (targets, cycles, joins), with messages in the terms of the file. */
function checkNet(net: Net, part: Part, build: Build): void {
  const keys = net.nodes.map((n) => n.key)
  for (const { path, message } of problemsOf(net)) {
    const unknown = /^there is no node '(.*)'$/.exec(message)?.[1]
    const near = unknown === undefined ? null : closest(unknown, keys)
    const hint = unknown === undefined ? null : near === null ? `nodes: ${keys.join(', ')}` : `did you mean '${near}'?`
    // The options of a gate have the same names in the file.
    const option = /\.(options(?:\..+)?)$/.exec(path)?.[1]?.split('.') ?? []
    build.reader.note({ path: [...(placeOf(path, build.places) ?? part.path), ...option], message, hint })
  }
}

function problemsOf(net: Net): readonly Problem[] {
  try {
    compileNet(net, newEvaluator())
  } catch (error) {
    if (!(error instanceof NetError)) throw error
    return error.problems
  }
  return [...gateProblems(net), ...schemaProblems(net)]
}

/** The place of the longest known beginning of a path inside the net. */
function placeOf(path: string, places: ReadonlyMap<string, Path>): Path | null {
  for (let at = path; at !== ''; at = at.replace(/(\.[^.[]*|\[\d+\]|^[^.[]*)$/, '')) {
    const place = places.get(at)
    if (place !== undefined) return place
  }
  return null
}

function nameFromFile(file: string): string {
  const base = file.split(/[/\\]/).at(-1) as string
  return base.replace(/(\.net)?\.(ya?ml|json)$/i, '') || 'net'
}
