/**
 * Why an instance has not ended: what it waits for as a whole, and one entry per node that has not ended. First come the
 * nodes with a run, a gate, a child or a held token, then those that have not been reached but still may be; each group in the
 * order of the net. The states of all nodes are read, but the reasons only for the nodes on the page.
 */

import type { GateView } from '../model/gates.ts'
import type { StepRun } from '../model/queries/steps.ts'
import type { InstanceRow, RunRow } from '../model/rows.ts'
import type { CompiledNet } from '../net/compile.ts'
import { type Place, TERMINAL } from '../net/marking.ts'
import { type HeldToken, type NodeFailure, SLOT, slotValue } from '../net/slots.ts'
import type { KnownNets } from './results.ts'
import { failureOf, loadSteps, nodesBefore, type StepView } from './steps.ts'
import type { GateReason, InstanceReason, Reason, Wait } from './why-reasons.ts'
import { factsOf, instancePause, RunReasons, type Source } from './why-run.ts'

export interface Why {
  readonly instance: InstanceRow
  readonly now: number
  readonly about: readonly InstanceReason[]
  readonly waits: readonly Wait[]
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null
}

export interface WhyRun {
  readonly run: RunRow
  readonly now: number
  /** Empty: it has ended. */
  readonly reasons: readonly Reason[]
}

export interface WhyDeps {
  readonly source: Source
  readonly nets: KnownNets
  readonly gate: (id: string) => Promise<GateView | null>
}

/** How many reasons are shown of a child, how many levels are read, and how many children in all. */
const OF_CHILD = 3
const MOST_LEVELS = 10
const MOST_CHILDREN = 20
/** How many items of lists are read. */
const MOST_OPEN = 1_000
const MOST_NAMED = 10

/** One entry of the answer, whose reasons have not been read yet. */
interface Spot {
  readonly rank: 0 | 1
  readonly position: number
  readonly item: number
  readonly wait: Omit<Wait, 'reasons'>
  readonly reasons: (question: Question) => Promise<readonly Reason[]> | readonly Reason[]
}

interface Question {
  readonly runs: RunReasons
  readonly level: number
  left: number
}

export class Reasons {
  readonly #deps: WhyDeps

  constructor(deps: WhyDeps) {
    this.#deps = deps
  }

  async instance(p: {
    readonly instanceId: string
    readonly after: string | null
    readonly limit: number
  }): Promise<Why | null> {
    const { source } = this.#deps
    const instance = await source.read.instance(p.instanceId)
    if (instance === null) return null
    const now = await source.now()
    const question = { runs: new RunReasons(source, now), level: 1, left: MOST_CHILDREN }
    const found = await this.#ask(instance, question, p)
    return { instance, now, ...found, about: [...(await pausesOf(instance, question.runs)), ...found.about] }
  }

  async run(run: RunRow): Promise<WhyRun> {
    const now = await this.#deps.source.now()
    const over = run.settledAt !== null && run.status !== 'pending' && run.status !== 'leased'
    return { run, now, reasons: over ? [] : await new RunReasons(this.#deps.source, now).of(run) }
  }

  async #ask(
    instance: InstanceRow,
    question: Question,
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<Pick<Why, 'about' | 'waits' | 'next'>> {
    if (TERMINAL.has(instance.state) || instance.state === 'idle' || instance.state === 'queued') {
      return { about: await this.#about(instance, question, []), waits: [], next: null }
    }
    const net = await this.#net(instance)
    const steps = await loadSteps(this.#deps.source.read, net, instance, net.net.nodes)
    const places = await this.#places(instance, net, steps)
    const from = page.after === null ? 0 : places.findIndex((place) => isAfter(place, page.after as string))
    const shown = from < 0 ? [] : places.slice(from, from + page.limit)
    const waits: Wait[] = []
    for (const place of shown) waits.push({ ...place.wait, reasons: await place.reasons(question) })
    const last = shown.at(-1)
    const more = last !== undefined && places.at(-1) !== last
    return { about: await this.#about(instance, question, steps), waits, next: more ? cursorOf(last) : null }
  }

  async #net(instance: InstanceRow): Promise<CompiledNet> {
    const known = this.#deps.nets.get(instance.netHash)
    if (known !== undefined) return known
    const row = await this.#deps.source.read.net(instance.netHash)
    if (row === null) throw new Error(`the net of instance ${instance.id} is missing`)
    return this.#deps.nets.load(row)
  }

  async #about(
    instance: InstanceRow,
    { runs }: Question,
    steps: readonly StepView[],
  ): Promise<readonly InstanceReason[]> {
    const { state, phase, quotaKey } = instance
    if (state === 'idle') return [{ kind: 'idle' }]
    if (state === 'queued') {
      const limit = quotaKey === null ? null : await runs.limit(quotaKey)
      const { inUse = 0, maxConcurrent: max = null } = limit ?? {}
      return [{ kind: 'slot', key: quotaKey ?? '', inUse, max, ahead: await runs.queuedBefore(instance) }]
    }
    const found: InstanceReason[] = []
    if (instance.more) found.push({ kind: 'cascade' })
    if (phase === 'forward') return found
    const { error, undoError } = await this.#errors(instance)
    const { reason, outcome, open: active } = instance
    if (TERMINAL.has(state)) {
      return [{ kind: 'ended', state, outcome, at: instance.endedAt ?? instance.createdAt, error, undoError }]
    }
    if (phase === 'drain' && reason !== null) {
      found.push({ kind: 'drain', reason, error, active, undo: state === 'compensating' })
    }
    if (phase === 'undo') found.push(await this.#undo(instance, error, steps))
    if (phase === 'final') found.push({ kind: 'finals', active })
    return found
  }

  async #undo(instance: InstanceRow, error: NodeFailure | null, steps: readonly StepView[]): Promise<InstanceReason> {
    const slots = await this.#deps.source.read.slots({ instanceId: instance.id, prefix: SLOT.undo.prefix })
    const nodes = slots.map(({ value }) => (JSON.parse(value) as Place).node).reverse()
    const running = steps.find(({ undo }) => undo?.status === 'pending' || undo?.status === 'leased')
    const next = nodes.slice(0, MOST_NAMED)
    return { kind: 'undo', error, running: running?.node.key ?? null, next, more: nodes.length - next.length }
  }

  async #errors(instance: InstanceRow): Promise<{ error: NodeFailure | null; undoError: NodeFailure | null }> {
    const slots = await this.#deps.source.read.slots({ instanceId: instance.id, prefix: SLOT.error.prefix })
    return { error: slotValue(slots, SLOT.error.key), undoError: slotValue(slots, SLOT.undoError.key) }
  }

  async #places(instance: InstanceRow, net: CompiledNet, steps: readonly StepView[]): Promise<readonly Spot[]> {
    const open: Spot[] = []
    const add = (node: string, wait: Partial<Wait>, reasons: Spot['reasons']): void => {
      const whole = { node, item: null, role: 'work', run: null, state: 'running', ...wait } as const
      open.push({ rank: 0, position: net.position.get(node) ?? 0, item: whole.item ?? -1, wait: whole, reasons })
    }
    const addRun = (run: StepRun, state: StepView['state']): void => {
      const item = run.item < 0 ? null : run.item
      add(run.node ?? '', { item, role: run.role, run: run.id, state }, ({ runs }) => runs.of(run))
    }
    for (const step of steps) {
      const { node, run, undo, gate, child } = step
      if (isOpen(undo)) addRun(undo, 'running')
      if (gate?.state === 'open') {
        const asked = node.work.kind === 'gate' ? null : run
        add(node.key, { state: step.state, run: asked?.id ?? null }, () => this.#gate(gate.id, asked))
      } else if (isOpen(run)) addRun(run, step.state)
      if (child !== null && !TERMINAL.has(child.state)) add(node.key, {}, (question) => this.#child(child, question))
    }
    for (const [node, tokens] of await this.#held(instance)) {
      const rules = net.byKey.get(node)?.admit?.rules ?? []
      add(node, { state: 'pending' }, () => [{ kind: 'admission', instance: instance.id, tokens, rules }])
    }
    if (net.net.nodes.some(({ work }) => work.kind === 'each')) await this.#items(instance, addRun, add)
    open.sort((a, b) => a.position - b.position || a.item - b.item)
    return [...open, ...unreached(instance, net, steps, open)]
  }

  /** Held tokens by node. */
  async #held(instance: InstanceRow): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    if (instance.held === 0) return found
    const slots = await this.#deps.source.read.slots({ instanceId: instance.id, prefix: SLOT.heldToken.prefix })
    for (const { value } of slots) {
      const { node } = JSON.parse(value) as HeldToken
      found.set(node, (found.get(node) ?? 0) + 1)
    }
    return found
  }

  async #items(
    { id: instanceId }: InstanceRow,
    addRun: (run: StepRun, state: StepView['state']) => void,
    add: (node: string, wait: Partial<Wait>, reasons: Spot['reasons']) => void,
  ): Promise<void> {
    const { steps } = this.#deps.source.read
    for (const run of await steps.openItems({ instanceId, limit: MOST_OPEN })) {
      addRun(run, run.firstStartedAt === null && run.status === 'pending' ? 'pending' : 'running')
    }
    for (const child of await steps.openChildren({ instanceId, limit: MOST_OPEN })) {
      if (child.parentItem < 0) continue
      add(child.parentNode ?? '', { item: child.parentItem }, (question) => this.#child(child, question))
    }
  }

  async #gate(gateId: string, asked: StepRun | null): Promise<readonly GateReason[]> {
    const view = await this.#deps.gate(gateId)
    if (view === null) return []
    const { gate, standing } = view
    const { quorum, approvals, missing, roles, excluded, options } = standing
    return [
      {
        kind: 'gate',
        gate: gate.id,
        title: options.title ?? null,
        approvals,
        quorum,
        missing,
        roles,
        excluded,
        since: gate.createdAt,
        dueAt: gate.dueAt,
        onTimeout: gate.onTimeout,
        escalatesAt: gate.escalateAt,
        appeal: asked === null ? null : failureOf(asked),
      },
    ]
  }

  /** The reasons of the child itself, down to a limited level. */
  async #child(child: InstanceRow, question: Question): Promise<readonly Reason[]> {
    if (question.left <= 0 || question.level >= MOST_LEVELS) {
      return [{ kind: 'child', child, about: [], waits: [], more: true }]
    }
    question.left--
    const inner: Question = { runs: question.runs, level: question.level + 1, left: question.left }
    const { about, waits, next } = await this.#ask(child, inner, { after: null, limit: OF_CHILD })
    question.left = inner.left
    return [{ kind: 'child', child, about, waits, more: next !== null }]
  }
}

/** Of its tree, and of new instances of its definition. */
async function pausesOf(instance: InstanceRow, runs: RunReasons): Promise<readonly InstanceReason[]> {
  if (TERMINAL.has(instance.state)) return []
  const found: InstanceReason[] = []
  const ofTree = await runs.pause({ kind: 'instance', key: instance.rootId })
  if (ofTree !== null) found.push(instancePause(ofTree))
  const { state, quotaKey: key, name: definition } = instance
  const ofDefinition = state === 'queued' && key !== null ? await runs.pause({ kind: 'definition', key }) : null
  if (ofDefinition?.state === 'paused')
    found.push({ kind: 'paused', what: 'definition', definition, ...factsOf(ofDefinition) })
  return found
}

/** Nodes that a live token can still reach, with the nodes before them that have not ended. */
function unreached(
  instance: InstanceRow,
  net: CompiledNet,
  steps: readonly StepView[],
  open: readonly Spot[],
): readonly Spot[] {
  if (instance.phase !== 'forward') return []
  const states = new Map(steps.map(({ node, state }) => [node.key, state]))
  const here = new Set(open.map(({ wait }) => wait.node as string))
  const reached = new Set<string>()
  const todo = [...here]
  for (let key = todo.pop(); key !== undefined; key = todo.pop()) {
    for (const { to } of net.byKey.get(key)?.next.arcs ?? []) {
      if (reached.has(to)) continue
      reached.add(to)
      todo.push(to)
    }
  }
  return steps.flatMap(({ node, state }, position) => {
    if (state !== 'pending' || here.has(node.key) || !reached.has(node.key) || node.work.kind === 'pass') return []
    const unmet = (keys: readonly string[]) =>
      keys.flatMap((key) => {
        const current = states.get(key)
        return current === 'pending' || current === 'running' ? [{ node: key, state: current }] : []
      })
    if (unmet(net.sources.get(node.key) ?? []).length === 0) return []
    const reasons = (): readonly Reason[] => {
      const nodes = unmet(nodesBefore(net, node.key))
      return [{ kind: 'dependency', nodes: nodes.slice(0, MOST_NAMED), more: Math.max(0, nodes.length - MOST_NAMED) }]
    }
    const wait = { node: node.key, item: null, role: 'work', run: null, state } as const
    return [{ rank: 1, position, item: -1, wait, reasons } as const]
  })
}

function isOpen(run: StepRun | null): run is StepRun {
  return run !== null && (run.status === 'pending' || run.status === 'leased' || run.settledAt === null)
}

function cursorOf({ rank, position, item }: Spot): string {
  return `${rank}.${position}.${item}`
}

function isAfter(place: Spot, cursor: string): boolean {
  const [rank = 0, position = 0, item = 0] = cursor.split('.').map(Number)
  return place.rank - rank > 0 || (place.rank === rank && isBehind(place, position, item))
}

function isBehind(place: Spot, position: number, item: number): boolean {
  return place.position > position || (place.position === position && place.item > item)
}

/** Whether a text is a valid `next` of a page. */
export function isWhyCursor(text: string): boolean {
  return /^[01]\.\d{1,9}\.-?\d{1,9}$/.test(text)
}
