/**
 * Arbitrary nets. Every node is drawn as a row of bytes in which 0 always means the plainest choice, so that a failing
 * case shrinks towards a chain of plain runs. The bytes are then read into a net that is valid by construction:
 *
 * - the first `strict` nodes form a graph without cycles, guards and scopes, the only place where count joins may be;
 * - arcs elsewhere lead forward, except loop arcs, which a context counter guards, so that every run of the net ends;
 * - the number of tokens that can reach a node is kept small; otherwise a net of 30 nodes would create millions of
 *   them.
 */
import fc from 'fast-check'
import type {
  Admission,
  Arc,
  ChildWork,
  Final,
  GateWork,
  Json,
  Net,
  Node,
  RunWork,
  Undo,
  Work,
} from '../../src/net/net.ts'
import {
  ADMISSIONS,
  ARGS,
  GUARDS,
  KINDS,
  type Kind,
  NODE_SETS,
  pick,
  ROOMS,
  SETS,
  SHARED,
  TEMPLATES,
  undoTemplates,
} from './choices.ts'
import { plain } from './plain.ts'

export interface NetCase {
  readonly net: Net
  /** Literal items of the each nodes that have some. */
  readonly items: { readonly [node: string]: readonly Json[] }
  /** true: more items than one `fire` moves. */
  readonly big: boolean
}

const BYTES_PER_NODE = 38
const MAX_TOKENS = 12
const BIG = 1_100

const run: RunWork = {
  kind: 'run',
  type: 'work',
  queue: 'default',
  priority: 0,
  delayMs: 0,
  args: null,
  limitKey: null,
}
const gate: GateWork = { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' }
const child: ChildWork = { kind: 'child', net: 'child-net', mode: 'attached', input: null }

interface NodeDraft {
  key: string
  kind: Kind
  work: Work
  join: Node['join']
  admit: Admission | null
  arcs: Arc[]
  scope: Node['next']['scope']
  mode: 'first' | 'every'
  onFailure: Node['onFailure']
  undo: Undo | null
  appealed: boolean
  unknown: Net['unknown'] | null
  set: Arc['set']
  tokens: number
  incoming: number
}

const nodeBytes = fc.uint8Array({ minLength: BYTES_PER_NODE, maxLength: BYTES_PER_NODE })
const nodeRows = (minLength: number, maxLength: number) => fc.array(nodeBytes, { minLength, maxLength, size: 'max' })

export const netCases: fc.Arbitrary<NetCase> = fc
  .tuple(
    fc.uint8Array({ minLength: 26, maxLength: 26 }),
    fc.oneof(
      { weight: 60, arbitrary: nodeRows(1, 5) },
      { weight: 32, arbitrary: nodeRows(1, 11) },
      { weight: 8, arbitrary: nodeRows(1, 27) },
    ),
  )
  .map(([policy, rows]) => readNet(policy, rows))

function readNet(policy: Uint8Array, rows: readonly Uint8Array[]): NetCase {
  const size = rows.length
  const at = (i: number) => rows[i]!
  const strict = pick(policy[0]!, [
    [150, 0],
    [50, Math.ceil(size / 2)],
    [56, size],
  ])
  const big = policy[1]! === 173
  const items: { [node: string]: readonly Json[] } = {}
  const drafts: NodeDraft[] = []
  for (let i = 0; i < size; i += 1) drafts.push(readNode(i, at(i), i < strict, items))
  const entry: string[] = []
  for (let i = 0; i < size; i += 1) {
    const draft = drafts[i]!
    if (draft.incoming === 0) connect(drafts, i, at(i)[23]!, strict, entry)
    drawArcs(drafts, i, at(i), strict)
    if (i >= strict) drawLoop(drafts, i, at(i), strict)
    else if (draft.incoming > 1) draft.join = 'count'
    else if (at(i)[1]! > 200) draft.join = 'count'
  }
  if (big) {
    const first = drafts[0]!
    first.kind = 'literal'
    first.work = { kind: 'each', items: null, body: run, maxInFlight: null, failFast: false }
    items[first.key] = Array.from({ length: BIG }, (_, i) => i)
  }
  const onFailure = pick(policy[14]!, [
    [80, 'abort'],
    [96, 'compensate'],
    [80, 'retry'],
  ] as const)
  // Otherwise hardly any node would be repeated.
  if (onFailure === 'retry') for (const [i, draft] of drafts.entries()) if (at(i)[3]! > 90) draft.onFailure = 'net'
  const nodes = drafts.map(finishNode)
  const finals = readFinals(policy, nodes)
  const net: Net = {
    version: 1,
    name: 'arbitrary',
    dialect: 'test',
    nodes,
    entry,
    finals,
    onFailure,
    verdict: {
      failedOn: pick(policy[15]!, [
        [100, 'unhandled'],
        [60, 'any'],
        [40, 'finals'],
        [56, 'first'],
      ]),
      partial: policy[16]! > 170,
    },
    unknown: pick(policy[17]!, [
      [90, 'ignore'],
      [60, 'stop'],
      [106, 'undo'],
    ]),
    timeoutMs: policy[18]! > 100 ? 60_000 : null,
    undoTimeoutMs: policy[19]! > 128 ? 10_000 : null,
    held: policy[20]! > 160 ? 'complete' : 'wait',
    noMatch: policy[21]! > 200 ? 'fail' : 'end',
    ...(policy[22]! > 140 ? { inlineBytes: 64 } : {}),
    ...(policy[23]! > 120 ? { summary: true } : {}),
    ...(policy[24]! > 170 ? { tells: true } : {}),
  }
  return { net, items, big }
}

function readNode(i: number, byte: Uint8Array, strict: boolean, items: { [node: string]: readonly Json[] }): NodeDraft {
  const key = `n${i}`
  const kind = pick(byte[0]!, KINDS)
  const length = pick(byte[20]!, [
    [60, 2],
    [50, 1],
    [40, 0],
    [60, 3],
    [40, 5],
  ])
  if (kind === 'literal') items[key] = Array.from({ length }, (_, n) => n)
  if (kind === 'named')
    items[key] = Array.from({ length }, (_, n): Json => (n % 2 === 0 ? { run: { ...run } } : { child: child.net }))
  const admit = pick(byte[2]!, ADMISSIONS)
  return {
    key,
    kind,
    work: workOf(kind, length, byte),
    join: 'each',
    admit: admit !== null && !strict && byte[24]! > 150 ? { ...admit, onDeny: 'discard' } : admit,
    arcs: [],
    scope: null,
    mode: byte[5]! > 140 && !strict ? 'first' : 'every',
    onFailure: pick(byte[3]!, [
      [40, 'route'],
      [60, 'skip'],
      [60, 'net'],
      [40, 'abort'],
      [56, 'compensate'],
    ]),
    undo: byte[4]! > 80 && kind !== 'pass' && kind !== 'detached' ? undoOf(key, byte[29]!) : null,
    appealed: kind === 'run' && byte[25]! > 110,
    unknown: pick(byte[37]!, [
      [160, null],
      [32, 'ignore'],
      [32, 'stop'],
      [32, 'undo'],
    ]),
    set: pick(byte[30]!, NODE_SETS),
    tokens: 0,
    incoming: 0,
  }
}

function undoOf(key: string, byte: number): Undo {
  return { work: { ...run, type: 'undo', args: pick(byte, undoTemplates(key)) }, retry: null, timeout: null }
}

function workOf(kind: Kind, length: number, byte: Uint8Array): Work {
  const template = pick(byte[28]!, TEMPLATES)
  const ownRun = { ...run, args: template }
  const ownChild = { ...child, input: template }
  const failFast = byte[25]! > 140
  const each = {
    kind: 'each' as const,
    maxInFlight: pick(byte[21]!, ROOMS),
    failFast,
    ...(byte[31]! > 128 ? { collect: 'list' as const } : {}),
    ...(byte[32]! > 150 && !failFast ? { tolerant: true as const } : {}),
    ...(byte[33]! > 128 ? { as: 'row' } : {}),
  }
  const sharing =
    template !== null && !('$shared' in template) && byte[34]! > 128 ? { shared: pick(byte[34]!, SHARED) } : {}
  switch (kind) {
    case 'run':
      return ownRun
    case 'pass':
      return { kind: 'pass' }
    case 'gate':
      return gate
    case 'attached':
      return ownChild
    case 'detached':
      return { ...ownChild, mode: 'detached' }
    case 'literal':
      return { ...each, items: null, body: ownRun, ...sharing }
    case 'named':
      return { ...each, items: null, body: null }
    case 'list':
      return { ...each, items: `list:${length}`, body: ownRun, ...sharing }
    case 'listOfChildren':
      return { ...each, items: `list:${length}`, body: ownChild }
    case 'badList':
      return { ...each, items: length > 2 ? 'boom' : 'ctx.none', body: ownRun }
  }
}

/** A node no arc leads to becomes an entry, or gets an arc from an earlier node. */
function connect(drafts: readonly NodeDraft[], i: number, byte: number, strict: number, entry: string[]): void {
  const draft = drafts[i]!
  const from = i > 0 && byte < 190 ? drafts[byte % i]! : undefined
  if (from === undefined) {
    entry.push(draft.key)
    draft.tokens += 1
    draft.incoming += 1
    return
  }
  const guard = byte % i < strict ? null : pick((byte * 7) % 256, GUARDS)
  from.arcs.push({ to: draft.key, when: guard, args: null, set: null })
  draft.tokens += Math.min(from.tokens, MAX_TOKENS)
  draft.incoming += 1
}

function drawArcs(drafts: readonly NodeDraft[], i: number, byte: Uint8Array, strict: number): void {
  const draft = drafts[i]!
  const later = drafts.length - i - 1
  const isStrict = i < strict
  if (isStrict && draft.incoming > 1) draft.tokens = 1
  const wanted =
    later === 0
      ? 0
      : pick(byte[7]!, [
          [100, 1],
          [70, 2],
          [46, 3],
          [40, 0],
        ])
  for (let n = 0; n < wanted; n += 1) {
    const [to, when, args, set] = byte.subarray(8 + n * 4, 12 + n * 4) as unknown as [number, number, number, number]
    // Near targets are likelier than far ones: chains and diamonds rather than stars.
    const target = drafts[i + 1 + (Math.floor((to / 256) ** 2 * later) % later)]!
    if (target.tokens + draft.tokens > MAX_TOKENS) continue
    target.tokens += draft.tokens
    target.incoming += 1
    draft.arcs.push({
      to: target.key,
      when: isStrict ? null : pick(when, GUARDS),
      args: pick(args, ARGS),
      set: pick(set, SETS),
    })
  }
  if (!isStrict && later > 0 && byte[6]! > 140) drawScope(drafts, i, byte)
}

/** Makes node i a fork; the targets of its arcs get an arc to a continuation, so that tokens also arrive at scopes. */
function drawScope(drafts: readonly NodeDraft[], i: number, byte: Uint8Array): void {
  const draft = drafts[i]!
  if (draft.arcs.length === 0) return
  const later = drafts.length - i - 1
  const first = i + 1 + ((byte[6]! - 141) % later)
  const second = first + 1 + (byte[36]! % 3)
  const joins = byte[35]! > 110 && second < drafts.length ? [drafts[first]!, drafts[second]!] : [drafts[first]!]
  for (const join of joins) {
    join.join = 'scope'
    join.tokens += draft.tokens
    join.incoming += 1
  }
  const keys = joins.map((join) => join.key).reverse()
  draft.scope = keys.length === 1 && byte[36]! < 128 ? keys[0]! : keys
  for (const [n, { to }] of draft.arcs.entries()) goOn(drafts, to, joins[n % joins.length]!)
  // In the next node: the inner join is a branch of the outer one.
  if (joins.length > 1 && byte[36]! > 60) goOn(drafts, joins[0]!.key, joins[1]!)
}

function goOn(drafts: readonly NodeDraft[], from: string, to: NodeDraft): void {
  const target = drafts.find((d) => d.key === from)!
  const goesOn = target.arcs.some((arc) => arc.to === to.key)
  if (target === to || goesOn || drafts.indexOf(target) > drafts.indexOf(to)) return
  target.arcs.push({ to: to.key, when: null, args: null, set: null })
}

/** A back arc, taken at most two or three times in the life of the instance. */
function drawLoop(drafts: readonly NodeDraft[], i: number, byte: Uint8Array, strict: number): void {
  const draft = drafts[i]!
  if (byte[22]! < 200 || draft.kind === 'pass' || draft.kind === 'detached') return
  const target = drafts[strict + (byte[26]! % (i - strict + 1))]!
  const counter = `c${i}`
  const times = byte[22]! > 235 ? 3 : 1
  const arc = { to: target.key, when: `ctx.${counter}<${times}`, args: null, set: { [counter]: `=ctx.${counter}+1` } }
  if (byte[27]! > 128) draft.arcs.push(arc)
  else draft.arcs.unshift(arc)
}

function finishNode(draft: NodeDraft): Node {
  return {
    key: draft.key,
    work: draft.work,
    join: draft.join,
    admit: draft.admit,
    retry: null,
    timeout: null,
    onFailure: draft.onFailure,
    undo: draft.undo,
    next: {
      mode: draft.mode,
      arcs: draft.arcs,
      scope: draft.scope,
    },
    ...(draft.appealed && draft.work.kind === 'run' ? { appeal: gate } : {}),
    ...(draft.unknown !== null && draft.work.kind === 'run' ? { unknown: draft.unknown } : {}),
    ...(draft.set === null ? {} : { set: draft.set }),
  }
}

function readFinals(policy: Uint8Array, nodes: Node[]): Final[] {
  const finals: Final[] = []
  const count = pick(policy[2]!, [
    [90, 0],
    [86, 1],
    [50, 2],
    [30, 3],
  ])
  for (let i = 0; i < count; i += 1) {
    const [kind, when, onFailure] = policy.subarray(3 + i * 3, 6 + i * 3) as unknown as [number, number, number]
    const work = pick<Work | null>(kind, [
      [100, run],
      [30, { ...run, args: { x: '=ctx.k0' } }],
      [20, { ...run, args: { counts: '=args.counts', of: '=results.n0' } }],
      [40, child],
      [20, { kind: 'pass' }],
      [46, null],
    ])
    // null: a node of the flow is a final as well, if its kind allows it.
    const shared = nodes[kind % nodes.length]!
    // Not one whose arguments throw: docs/net.md does not define that case.
    const throws = JSON.stringify(shared.work).includes('boom')
    const takes = shared.work.kind === 'run' && shared.appeal === undefined && !throws
    const free = takes && !finals.some((final) => final.node === shared.key)
    const key = work === null && free ? shared.key : `f${i}`
    if (key !== shared.key) nodes.push(plain(key, work ?? run))
    finals.push({
      node: key,
      when: pick(when, [
        [90, 'always'],
        [80, 'success'],
        [86, 'failure'],
      ]),
      onFailure: onFailure > 128 ? 'partial' : 'fail',
    })
  }
  return finals
}
