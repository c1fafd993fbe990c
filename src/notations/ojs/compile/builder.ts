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

import { inputError, type PetrelError } from '../../../kernel/errors.ts'
import { MAX_NESTING } from '../../../kernel/limits.ts'
import type { ChildStart, Item, ItemRun, Literal, StartParams } from '../../../model/start.ts'
import type { Final, Json, Net, Node, RunWork } from '../../../net/net.ts'
import type { ResultHint, Shape } from '../../../worker/shape.ts'
import { intern, jobsNode, MOST_KNOWN, newNet, plainNode, UNHANDLED } from './ojs-net.ts'
import { type BatchTree, type ChainTree, checkJob, type GroupTree, type JobTree, retryOf, type Tree } from './tree.ts'

export interface Built {
  readonly start: Pick<StartParams, 'net'> & Required<Pick<StartParams, 'nets' | 'literals' | 'items'>>
  /** How the value of the workflow is read from its results. */
  readonly shape: Shape
  /** All its jobs, including those of nested workflows, without callbacks. */
  readonly jobs: number
  readonly nested: boolean
  /** Start keys of the workflow and of those nested in it, if their author named them. */
  readonly names: readonly string[]
}

export interface BuildOptions {
  /** Called with the arguments of each job and its place, to check them. */
  readonly checkArgs?: (args: Json, path: string) => void
  /** The start key of a workflow that its author named. */
  readonly startKey?: (id: string) => string
}

/** A lone job becomes a chain of one. Throws a PetrelError that names the place of the mistake. */
export function buildWorkflow(tree: Tree, options: BuildOptions = {}): Built {
  const { checkArgs = () => undefined, startKey = (id) => id } = options
  const building: Building = { nets: new Map(), names: [], checkArgs, startKey }
  const root: Composed = tree.kind === 'job' ? { kind: 'chain', steps: [tree] } : tree
  const { net, hash, start, shape, jobs, nested } = build(root, { path: root.kind, level: 1, before: null }, building)
  building.nets.delete(hash)
  const { literals = {}, items = {} } = start
  return {
    start: { net, nets: [...building.nets.values()], literals, items },
    shape,
    jobs,
    nested,
    names: building.names,
  }
}

interface Building {
  /** All nets met, by hash. */
  readonly nets: Map<string, Net>
  /** Start keys of all named workflows, including the root. */
  readonly names: string[]
  readonly checkArgs: (args: Json, path: string) => void
  readonly startKey: (id: string) => string
}

interface Where {
  /** For messages: chain.steps[2].jobs[0]. */
  readonly path: string
  readonly level: number
  /** Shape of the previous step, which the first steps of a nested workflow also see; null: a plain result. */
  readonly before: Shape
}

interface Part {
  readonly net: Net
  readonly hash: string
  readonly start: ChildStart
  readonly shape: Shape
  readonly jobs: number
  /** true: some of the jobs are in workflows of their own. */
  readonly nested: boolean
}

type Composed = ChainTree | GroupTree | BatchTree

function build(tree: Composed, where: Where, building: Building): Part {
  if (where.level > MAX_NESTING) {
    const problem = `workflows nest at most ${MAX_NESTING} levels deep`
    throw inputError('too_deep', where.path, problem, { maxLevels: MAX_NESTING })
  }
  if (tree.id !== undefined) building.names.push(building.startKey(tree.id))
  if (tree.kind === 'chain') return buildPlainChain(tree, where, building) ?? buildChain(tree, where, building)
  return tree.kind === 'group' ? buildGroup(tree, where, building) : buildBatch(tree, where, building)
}

/** A workflow inside another, with what its instance will store about it. */
function buildNested(tree: Composed, where: Where, building: Building): Part {
  const part = build(tree, { ...where, level: where.level + 1 }, building)
  const start = {
    ...part.start,
    ...(tree.id === undefined ? {} : { startKey: building.startKey(tree.id) }),
    ...(part.nested ? { meta: aboutJobs(part.jobs) } : {}),
  }
  return { ...part, start }
}

/** Counting them again would mean reading everything below. */
export function aboutJobs(jobs: number): Json {
  return { ojs: { jobs } }
}

function buildChain(tree: ChainTree, where: Where, building: Building): Part {
  if (tree.steps.length === 0) throw empty(where, 'a chain needs at least one step')
  const nodes: Node[] = []
  const literals: Record<string, Literal> = {}
  const nested: Record<string, Shape> = {}
  let { before } = where
  let jobs = 0
  for (const [i, step] of tree.steps.entries()) {
    const key = String(i)
    const path = `${where.path}.steps[${i}]`
    const hint = { previous: before, nodes: nested }
    const part = buildNode(step, { ...where, path, before }, hint, building)
    const arcs = i + 1 < tree.steps.length ? [{ to: String(i + 1), when: null, args: null, set: null }] : []
    nodes.push({ ...part.node, key, next: { mode: 'first', arcs, scope: null } })
    literals[key] = part.literal
    jobs += part.jobs
    before = part.shape
    if (before !== null) nested[key] = before
  }
  const last = String(tree.steps.length - 1)
  const net = newNet(tree, { nodes, entry: ['0'], finals: [], verdict: UNHANDLED })
  const shape = { last, of: before }
  return { ...known(net, building), start: { literals }, shape, jobs, nested: Object.keys(nested).length > 0 }
}

const NO_HINT: ResultHint = {}

/**
 * Chains that consist of jobs only, by name and by the parts of each job that enter the net: most starts repeat one of
 * these.
 */
const knownChains = new Map<string, { readonly net: Net; readonly hash: string }>()

function buildPlainChain(tree: ChainTree, where: Where, building: Building): Part | null {
  if (where.before !== null) return null
  let text = tree.name ?? 'chain'
  const literals: Record<string, Literal> = {}
  const { steps } = tree
  // By number: most starts come here, and an iterator of pairs costs one more object for every step.
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as Tree
    if (step.kind !== 'job' || step.options.meta !== undefined) return null
    const { options } = step
    text += `\n${step.type}`
    // Not copied without them first: a start does this for every step.
    for (const name in options) {
      if (name !== 'envelope' && name !== 'runAt' && name !== 'expiresAt')
        text += ` ${name} ${JSON.stringify(options[name as keyof typeof options])}`
    }
    literals[i] = literalOf(step, NO_HINT)
  }
  const entry = knownChains.get(text)
  if (entry === undefined) {
    const part = buildChain(tree, where, building)
    if (knownChains.size >= MOST_KNOWN) knownChains.clear()
    knownChains.set(text, { net: part.net, hash: part.hash })
    return part
  }
  for (let i = 0; i < steps.length; i++) building.checkArgs((steps[i] as JobTree).args, `${where.path}.steps[${i}]`)
  building.nets.set(entry.hash, entry.net)
  const shape = { last: String(tree.steps.length - 1), of: null }
  const { net, hash } = entry
  return { net, hash, start: { literals }, shape, jobs: tree.steps.length, nested: false }
}

function buildGroup(tree: GroupTree, where: Where, building: Building): Part {
  const { items, ...rest } = buildItems(tree.jobs, where, building)
  const net = newNet(tree, { nodes: [jobsNode('net')], entry: ['jobs'], finals: [], verdict: UNHANDLED })
  return { ...known(net, building), start: { items: { jobs: items } }, ...rest }
}

function buildBatch(tree: BatchTree, where: Where, building: Building): Part {
  const { items, ...rest } = buildItems(tree.jobs, where, building)
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
    const at = { ...where, path: `${where.path}.${key}`, before: rest.shape }
    const part = buildNode(callback, at, { own: rest.shape }, building)
    nodes.push({ ...part.node, key })
    finals.push({ node: key, when, onFailure: 'fail' })
    literals[key] = part.literal
  }
  if (finals.length === 0) throw empty(where, 'a batch needs a callback: onComplete, onSuccess or onFailure')
  const verdict = { failedOn: 'finals', partial: false } as const
  const net = newNet(tree, { nodes, entry: ['jobs'], finals, verdict })
  return { ...known(net, building), start: { literals, items: { jobs: items } }, ...rest }
}

type Items = Pick<Part, 'shape' | 'jobs' | 'nested'> & { readonly items: readonly Item[] }

function buildItems(jobs: readonly Tree[], where: Where, building: Building): Items {
  if (jobs.length === 0) throw empty(where, 'needs at least one job')
  const of: Record<string, Shape> = {}
  let count = 0
  const items = jobs.map((job, i): Item => {
    const path = `${where.path}.jobs[${i}]`
    if (job.kind === 'job') {
      checkJob(job, `${path}: `)
      building.checkArgs(job.args, path)
      count++
      return { run: itemRun(job, where.before) }
    }
    const part = buildNested(job, { ...where, path }, building)
    of[i] = part.shape
    count += part.jobs
    return { child: part.hash, start: part.start }
  })
  const shape = { each: 'jobs', count: jobs.length, of }
  return { items, shape, jobs: count, nested: Object.keys(of).length > 0 }
}

interface NodePart {
  readonly node: Node
  readonly literal: Literal
  readonly shape: Shape
  readonly jobs: number
}

/** A job or a workflow that has a node of its own: a step of a chain, a callback of a batch. */
function buildNode(tree: Tree, where: Where, hint: ResultHint, building: Building): NodePart {
  if (tree.kind === 'job') {
    const { retry, timeoutMs } = tree.options
    checkJob(tree, `${where.path}: `)
    building.checkArgs(tree.args, where.path)
    const timeout = timeoutMs === undefined ? null : ({ ms: timeoutMs, per: 'attempt' } as const)
    const node = { ...plainNode(runWork(tree)), retry: retryOf(retry), timeout }
    return { node, literal: literalOf(tree, hint), shape: null, jobs: 1 }
  }
  const { hash, start, shape, jobs } = buildNested(tree, where, building)
  const node = plainNode({ kind: 'child', net: hash, mode: 'attached', input: null })
  return { node, literal: { start }, shape, jobs }
}

/** The parts of a job that are data, not shape. */
function literalOf(job: JobTree, hint: ResultHint): Literal {
  const { runAt, expiresAt } = job.options
  const literal: { -readonly [K in keyof Literal]: Literal[K] } = { args: job.args }
  const meta = metaOf(job, hint)
  if (meta !== undefined) literal.meta = meta
  if (runAt !== undefined) literal.runAt = runAt
  if (expiresAt !== undefined) literal.expiresAt = expiresAt
  return literal
}

function runWork(job: JobTree): RunWork {
  const { queue = 'default', priority = 100, delayMs = 0, limitKey = null, fairKey } = job.options
  const fair = fairKey === undefined ? {} : { fairKey }
  return { kind: 'run', type: job.type, queue, priority, delayMs, args: null, limitKey, ...fair }
}

function itemRun(job: JobTree, before: Shape): ItemRun {
  const { retry, meta: _, envelope: __, graceMs: ___, ...rest } = job.options
  const meta = metaOf(job, { previous: before })
  return { type: job.type, args: job.args, ...rest, retry: retryOf(retry), ...(meta === undefined ? {} : { meta }) }
}

/** The caller's meta, with the hint only if it contains something. */
function metaOf({ options }: JobTree, { previous, own, nodes }: ResultHint): Json | undefined {
  const { envelope, graceMs, meta } = options
  const petrel: Record<string, unknown> = {}
  if (graceMs !== undefined) petrel.grace_ms = graceMs
  if (envelope !== undefined) petrel.ojs = envelope
  if (previous !== undefined && previous !== null) petrel.previous = previous
  if (own !== undefined) petrel.own = own
  if (nodes !== undefined && Object.keys(nodes).length > 0) petrel.nodes = { ...nodes }
  return Object.keys(petrel).length === 0 ? meta : { ...meta, petrel: petrel as Json }
}

function known(net: Net, building: Building): { readonly net: Net; readonly hash: string } {
  const entry = intern(net)
  building.nets.set(entry.hash, entry.net)
  return entry
}

function empty(where: Where, problem: string): PetrelError {
  return inputError('invalid_request', where.path, problem)
}
