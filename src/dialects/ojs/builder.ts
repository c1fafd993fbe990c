/**
 * Compiles chain, group and batch to nets, for the typed builders and for OJS alike.
 *
 *   chain   nodes '0' … 'n−1', an arc from each to the next; a failure aborts
 *   group   one node 'jobs', an `each` over literal items, all at once; failed if any failed, once all have ended
 *   batch   the same, but failures are routed (nowhere): finals on_complete, on_success, on_failure give the verdict
 *   nested  an attached child: a child node in a chain or as a callback, an item `{ child, start }` in a group or batch
 *
 * Arguments never enter the net, so workflows of equal shape share one net however their arguments differ.
 */
import type { ChildStart, Item, ItemRun, Literal, StartParams } from '../../engine/api.ts'
import { PetrelError } from '../../engine/errors.ts'
import { netHash } from '../../engine/hash.ts'
import type { Final, Json, Net, Node, RunWork, Verdict, Work } from '../../net/net.ts'
import type { ResultHint, Shape } from '../../worker/shape.ts'
import { type BatchTree, type ChainTree, checkJob, type GroupTree, type JobTree, retryOf, type Tree } from './tree.ts'

export const MAX_LEVELS = 10

export interface Built {
  readonly start: Pick<StartParams, 'net'> & Required<Pick<StartParams, 'nets' | 'literals' | 'items'>>
  /** How the workflow's value is read out of its results. */
  readonly shape: Shape
}

/**
 * A lone job becomes a chain of one. Throws PetrelError naming the place of what is wrong; `checkArgs` may look at the
 * arguments of each job, and is told where it stands.
 */
export function buildWorkflow(tree: Tree, checkArgs: (args: Json, path: string) => void = () => undefined): Built {
  const building: Building = { nets: new Map(), checkArgs }
  const root = tree.kind === 'job' ? ({ kind: 'chain', steps: [tree] } as const) : tree
  const { net, hash, start, shape } = build(root, { path: root.kind, level: 1, before: null }, building)
  building.nets.delete(hash)
  const { literals = {}, items = {} } = start
  return { start: { net, nets: [...building.nets.values()], literals, items }, shape }
}

interface Building {
  /** All nets met, by hash. */
  readonly nets: Map<string, Net>
  readonly checkArgs: (args: Json, path: string) => void
}

interface Where {
  /** For messages: chain.steps[2].jobs[0]. */
  readonly path: string
  readonly level: number
  /** Shape of the step before this one, which the first steps of a nested workflow see too; null: a plain result. */
  readonly before: Shape
}

interface Part {
  readonly net: Net
  readonly hash: string
  readonly start: ChildStart
  readonly shape: Shape
}

function build(tree: ChainTree | GroupTree | BatchTree, where: Where, building: Building): Part {
  if (where.level > MAX_LEVELS) {
    throw new PetrelError('too_deep', `${where.path}: workflows nest at most ${MAX_LEVELS} levels deep`, {
      path: where.path,
      maxLevels: MAX_LEVELS,
    })
  }
  if (tree.kind === 'chain') return buildPlainChain(tree, where, building) ?? buildChain(tree, where, building)
  return tree.kind === 'group' ? buildGroup(tree, where, building) : buildBatch(tree, where, building)
}

function buildChain(tree: ChainTree, where: Where, building: Building): Part {
  if (tree.steps.length === 0) throw empty(where, 'a chain needs at least one step')
  const nodes: Node[] = []
  const literals: Record<string, Literal> = {}
  const nested: Record<string, Shape> = {}
  let { before } = where
  for (const [i, step] of tree.steps.entries()) {
    const key = String(i)
    const path = `${where.path}.steps[${i}]`
    const hint = { previous: before, nodes: nested }
    const part = buildNode(step, { ...where, path, before }, hint, building)
    const arcs = i + 1 < tree.steps.length ? [{ to: String(i + 1), when: null, args: null, set: null }] : []
    nodes.push({ ...part.node, key, next: { mode: 'first', arcs, scope: null } })
    literals[key] = part.literal
    before = part.shape
    if (before !== null) nested[key] = before
  }
  const last = String(tree.steps.length - 1)
  const net = newNet(tree.name ?? 'chain', { nodes, entry: ['0'], finals: [], verdict: UNHANDLED })
  return { ...intern(net, building), start: { literals }, shape: { last, of: before } }
}

/** Chains of jobs alone, by name and by what of each job enters the net: most starts repeat one of these. */
const knownChains = new Map<string, { readonly net: Net; readonly hash: string }>()

function buildPlainChain(tree: ChainTree, where: Where, building: Building): Part | null {
  if (where.before !== null) return null
  let text = tree.name ?? 'chain'
  const literals: Record<string, Literal> = {}
  for (let i = 0; i < tree.steps.length; i++) {
    const step = tree.steps[i] as Tree
    if (step.kind !== 'job' || step.options.meta !== undefined) return null
    const { options } = step
    text += `\n${step.type}`
    for (const name in options) text += ` ${name} ${JSON.stringify(options[name as keyof typeof options])}`
    literals[i] = { args: step.args }
  }
  const entry = knownChains.get(text)
  if (entry === undefined) {
    const part = buildChain(tree, where, building)
    if (knownChains.size >= MOST_KNOWN) knownChains.clear()
    knownChains.set(text, { net: part.net, hash: part.hash })
    return part
  }
  for (let i = 0; i < tree.steps.length; i++) {
    building.checkArgs((tree.steps[i] as JobTree).args, `${where.path}.steps[${i}]`)
  }
  const { net, hash } = entry
  building.nets.set(hash, net)
  return { net, hash, start: { literals }, shape: { last: String(tree.steps.length - 1), of: null } }
}

function buildGroup(tree: GroupTree, where: Where, building: Building): Part {
  const { items, shape } = buildItems(tree.jobs, where, building)
  const net = newNet(tree.name ?? 'group', {
    nodes: [jobsNode('net')],
    entry: ['jobs'],
    finals: [],
    verdict: UNHANDLED,
  })
  return { ...intern(net, building), start: { items: { jobs: items } }, shape }
}

function buildBatch(tree: BatchTree, where: Where, building: Building): Part {
  const { items, shape } = buildItems(tree.jobs, where, building)
  const nodes: Node[] = [jobsNode('route')]
  const finals: Final[] = []
  const literals: Record<string, Literal> = {}
  const callbacks = [
    ['on_complete', 'always', tree.onComplete],
    ['on_success', 'success', tree.onSuccess],
    ['on_failure', 'failure', tree.onFailure],
  ] as const
  for (const [key, when, callback] of callbacks) {
    if (callback === null) continue
    const at = { ...where, path: `${where.path}.${key}`, before: shape }
    const part = buildNode(callback, at, { own: shape }, building)
    nodes.push({ ...part.node, key })
    finals.push({ node: key, when, onFailure: 'fail' })
    literals[key] = part.literal
  }
  if (finals.length === 0) throw empty(where, 'a batch needs a callback: onComplete, onSuccess or onFailure')
  const verdict = { failedOn: 'finals', partial: false } as const
  const net = newNet(tree.name ?? 'batch', { nodes, entry: ['jobs'], finals, verdict })
  return { ...intern(net, building), start: { literals, items: { jobs: items } }, shape }
}

function buildItems(jobs: readonly Tree[], where: Where, building: Building): { items: Item[]; shape: Shape } {
  if (jobs.length === 0) throw empty(where, 'needs at least one job')
  const of: Record<string, Shape> = {}
  const items = jobs.map((job, i): Item => {
    const path = `${where.path}.jobs[${i}]`
    if (job.kind === 'job') {
      checkJob(job, `${path}: `)
      building.checkArgs(job.args, path)
      return { run: itemRun(job, where.before) }
    }
    const { hash, start, shape } = build(job, { ...where, path, level: where.level + 1 }, building)
    of[i] = shape
    return { child: hash, start }
  })
  return { items, shape: { each: 'jobs', count: jobs.length, of } }
}

interface NodePart {
  readonly node: Node
  readonly literal: Literal
  readonly shape: Shape
}

/** A job or a workflow that has a node of its own: a step of a chain, a callback of a batch. */
function buildNode(tree: Tree, where: Where, hint: ResultHint, building: Building): NodePart {
  if (tree.kind === 'job') {
    const { retry, timeoutMs } = tree.options
    checkJob(tree, `${where.path}: `)
    building.checkArgs(tree.args, where.path)
    const timeout = timeoutMs === undefined ? null : ({ ms: timeoutMs, per: 'attempt' } as const)
    const node = { ...plainNode(runWork(tree)), retry: retryOf(retry), timeout }
    return { node, literal: { args: tree.args, ...metaOf(tree, hint) }, shape: null }
  }
  const { hash, start, shape } = build(tree, { ...where, level: where.level + 1 }, building)
  const node = plainNode({ kind: 'child', net: hash, mode: 'attached', input: null })
  return { node, literal: { start }, shape }
}

function runWork(job: JobTree): RunWork {
  const { queue = 'default', priority = 100, delayMs = 0, limitKey = null } = job.options
  return { kind: 'run', type: job.type, queue, priority, delayMs, args: null, limitKey }
}

function itemRun(job: JobTree, before: Shape): ItemRun {
  const { retry, meta: _, ...rest } = job.options
  return { type: job.type, args: job.args, ...rest, retry: retryOf(retry), ...metaOf(job, { previous: before }) }
}

/** The caller's meta, with the hint only if there is something to say. */
function metaOf(job: JobTree, hint: ResultHint): { meta?: Json } {
  const petrel = {
    ...(hint.previous !== undefined && hint.previous !== null && { previous: hint.previous }),
    ...(hint.own !== undefined && { own: hint.own }),
    ...(hint.nodes !== undefined && Object.keys(hint.nodes).length > 0 && { nodes: { ...hint.nodes } }),
  }
  if (Object.keys(petrel).length > 0) return { meta: { ...job.options.meta, petrel: petrel as Json } }
  return job.options.meta === undefined ? {} : { meta: job.options.meta }
}

function plainNode(work: Work): Node {
  return {
    key: '',
    work,
    join: 'each',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'net',
    undo: null,
    next: { mode: 'first', arcs: [], scope: null },
  }
}

function jobsNode(onFailure: 'net' | 'route'): Node {
  const work = { kind: 'each', items: null, body: null, maxInFlight: null, failFast: false } as const
  return { ...plainNode(work), key: 'jobs', onFailure }
}

const UNHANDLED: Verdict = { failedOn: 'unhandled', partial: false }

function newNet(name: string, parts: Pick<Net, 'nodes' | 'entry' | 'finals' | 'verdict'>): Net {
  return {
    version: 1,
    name,
    dialect: 'ojs',
    ...parts,
    onFailure: 'abort',
    unknown: 'ignore',
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
  }
}

/** Nets by their text, newest last: hashing and checking one again at every start would cost more than building it. */
const known = new Map<string, { readonly net: Net; readonly hash: string }>()
const MOST_KNOWN = 1_000

function intern(net: Net, building: Building): { readonly net: Net; readonly hash: string } {
  const text = JSON.stringify(net)
  let entry = known.get(text)
  if (entry === undefined) {
    entry = { net, hash: netHash(net) }
    const oldest = known.size >= MOST_KNOWN ? known.keys().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    known.set(text, entry)
  }
  building.nets.set(entry.hash, entry.net)
  return entry
}

function empty(where: Where, problem: string): PetrelError {
  return new PetrelError('invalid_request', `${where.path}: ${problem}`, { path: where.path })
}
