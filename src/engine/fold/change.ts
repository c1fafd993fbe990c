/**
 * One transaction's work: instances taken up from what was loaded, happenings folded into them one after another until
 * nothing moves (child ends, parent advances, cancels cascade), and the rows that come of it. Nothing here survives the
 * transaction. What was not loaded is asked for by throwing NeedMore; the transaction loads it and folds anew.
 */
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { NewCommand } from '../../model/commands.ts'
import type {
  EventRow,
  GateRow,
  InstanceRow,
  ItemChunk,
  NetRow,
  QueueRow,
  RunRow,
  ScheduleRow,
  UniqueRow,
  WorkerRow,
} from '../../model/rows.ts'
import { transitionOf } from '../../model/run-transitions.ts'
import type { CompiledNet } from '../../net/compile.ts'
import type { Facts } from '../../net/facts.ts'
import { fire } from '../../net/fire.ts'
import type { Effect, Entries, Failure, Happening, InstanceState } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { SLOT, type SlotKey } from '../../net/slots.ts'
import { isExecuting } from '../../net/transitions.ts'
import type { Loaded, Need } from '../../store/store.ts'
import type { Admission } from './admission.ts'
import type { ChangeDeps } from './deps.ts'
import { factsOf } from './facts.ts'
import { closeGate, openAppeal, openGate } from './gates.ts'
import { childEnded, errorOf } from './instance/child-ends.ts'
import { cutOff, isTimedOut } from './instance/cut-off.ts'
import { DetachedChildren } from './instance/detached-children.ts'
import { type ChildSpec, childInstance } from './instance/instance-creation.ts'
import { chunksOf } from './instance/item-chunks.ts'
import { NeedMore, needOf } from './need.ts'
import { Recorded } from './recorded-results.ts'
import { iso, reasonOf, storyOf } from './run/lease-events.ts'
import { type Redrive, redrive } from './run/redrives.ts'
import { runOf } from './run/run-creation.ts'
import { CANCELLED_UNSTARTED, type Finish, finished, placeOf } from './run/runs.ts'

/** An instance taken up in this transaction. */
export interface Member {
  /** Its eventSeq is stale while the transaction lasts: `seq` counts. */
  row: InstanceRow
  seq: number
  readonly net: CompiledNet
  readonly isNew: boolean
  dirty: boolean
  /** Changed slots over the loaded ones; null: removed. */
  readonly slots: Map<SlotKey, Json | null>
  /** Items in hand: literal ones of a new instance (fire 0), lists frozen in this transaction. */
  readonly items: Map<string, { readonly first: number; readonly values: readonly Json[] }>
  facts: Facts | null
}

export class Change {
  readonly loaded: Loaded
  readonly deps: ChangeDeps
  readonly admission: Admission
  readonly members = new Map<string, Member>()
  /** Existing runs changed. */
  readonly runs = new Map<string, RunRow>()
  readonly newRuns = new Map<string, RunRow>()
  /** Runs that go for good. */
  readonly removedRuns = new Set<string>()
  readonly gates = new Map<string, GateRow>()
  readonly newGates = new Map<string, GateRow>()
  readonly chunks: ItemChunk[] = []
  readonly netRows = new Map<string, NetRow>()
  readonly names: { readonly name: string; readonly rootId: string }[] = []
  readonly events: EventRow[] = []
  readonly signalled = new Set<string>()
  readonly uniques = new Map<string, UniqueRow>()
  readonly queues = new Map<string, QueueRow>()
  readonly schedules = new Map<string, ScheduleRow>()
  readonly workers = new Map<string, WorkerRow>()
  readonly commands = new Map<string, NewCommand>()
  readonly results = new Recorded()
  readonly detached = new DetachedChildren(this)
  /** Context entries of runs that were taken over from an earlier instance. */
  readonly taken = new Map<string, Entries>()
  /** Whether what lies aside is the same here as there. */
  readonly shared = new Map<string, boolean>()
  /** Times of new runs that were counted from now, not named: told with their creation, in case the clock is set back. */
  readonly counted = new Map<string, { readonly delay_ms?: number; readonly expires_in_ms?: number }>()
  readonly endedIds: string[] = []
  /** Limits under which this transaction found or put somebody in the queue. */
  readonly queuedUnder = new Set<string>()
  /** Things asked for that may simply not exist. */
  readonly asked: Set<string>
  /** Must be loaded before this pass counts, though nothing that was folded after it depends on it. */
  readonly lacking: Need[] = []
  #queue: { readonly id: string; readonly happening: Happening }[] = []
  readonly #created = new Map<string, number>()

  constructor(loaded: Loaded, admission: Admission, deps: ChangeDeps, asked: Set<string>) {
    this.loaded = loaded
    this.asked = asked
    this.admission = admission
    this.deps = deps
  }

  get now(): number {
    return this.loaded.now
  }

  member(id: string): Member {
    const known = this.members.get(id)
    if (known !== undefined) return known
    const row = this.loaded.instances.get(id)
    if (row === undefined) throw new NeedMore({ instances: [id] })
    const member: Member = {
      row,
      seq: row.eventSeq,
      net: this.net(row.netHash),
      isNew: false,
      dirty: false,
      slots: new Map(),
      items: new Map(),
      facts: null,
    }
    this.members.set(id, member)
    this.deps.nets.remember(id, row.netHash)
    return member
  }

  net(hash: string): CompiledNet {
    const known = this.deps.nets.get(hash)
    if (known !== undefined) return known
    const row = this.loaded.nets.get(hash)
    if (row === undefined) throw new NeedMore({ nets: [hash] })
    return this.deps.nets.load(row)
  }

  /** Made once per member: a fold asks for them again and again. */
  facts(member: Member): Facts {
    member.facts ??= factsOf(this, member)
    return member.facts
  }

  run(id: string): RunRow | undefined {
    return this.runs.get(id) ?? this.newRuns.get(id) ?? this.loaded.runs.get(id)
  }

  /** Folds a happening and everything that follows from it. */
  happen(id: string, happening: Happening): void {
    this.follow(id, happening)
    this.pump()
  }

  /** Folds what waits, and what follows from it, until nothing moves. */
  pump(): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#fold(next.id, next.happening)
    }
  }

  /** Lets something follow inside the fold that is under way. */
  follow(id: string, happening: Happening): void {
    this.#queue.push({ id, happening })
  }

  #fold(id: string, happening: Happening): void {
    const member = this.member(id)
    const evaluate = this.deps.evaluators.of(member.net.net.dialect).at(this.now)
    const result = fire(member.net, member.row, this.facts(member), happening, evaluate)
    if ('missing' in result) {
      const need = needOf(id, result.missing)
      if (result.ahead === null) throw new NeedMore(need)
      // This pass is thrown away, but goes on: what the rest of it lacks is loaded in the same go.
      this.lacking.push(need)
      member.row = result.ahead.marking as InstanceRow
      for (const [key, value] of result.ahead.slots) member.slots.set(key, value)
      return
    }
    const { marking, slots, effects } = result.fired
    const before = member.row.state
    // fire was given the row itself as the marking, so what it returns is the whole row.
    member.row = marking as InstanceRow
    member.dirty = true
    if (member.row.endedAt !== null && member.row.phase !== 'ended') member.row = { ...member.row, endedAt: null }
    if (member.row.slotKey !== null) this.#countSlot(member.row.slotKey, before, member.row.state)
    for (const [key, value] of slots) member.slots.set(key, value)
    // The moment of a cancel: the instance ends only with what was active then.
    if (before !== member.row.state && before !== 'cancelling' && member.row.reason === 'cancel') {
      member.slots.set(SLOT.cancelledAt.key, this.now)
    }
    const waits = member.row.state === 'waiting'
    const turned = before !== member.row.state && (waits || before === 'waiting')
    // What made it wait comes before the wait, and what follows from going on after that.
    if (turned && !waits) this.event(member, 'instance.resumed', null, null)
    for (const effect of effects) this.#perform(member, effect)
    if (turned && waits) this.event(member, 'instance.waiting', null, null)
    // What was claimed while a cancel worked through its chunks has not heard of it yet; this was the last of them.
    const again = happening.kind === 'continue' && isUnwanted(member.row)
    if (again || (happening.kind === 'cancel' && this.#isOverdue(member)))
      this.#perform(member, { do: 'signal-active' })
  }

  /** Stopped by the deadline of an instance it is nested in: its net may let active work end, time does not. */
  #isOverdue(member: Member): boolean {
    return member.row.phase === 'drain' && member.row.open > 0 && isTimedOut(this, member)
  }

  #countSlot(key: string, before: InstanceState, after: InstanceState): void {
    const n = Number(isExecuting(after)) - Number(isExecuting(before))
    if (n === 0) return
    if (!this.loaded.limits.has(key) && !this.asked.has(`limit ${key}`)) {
      this.asked.add(`limit ${key}`)
      throw new NeedMore({ limits: [key] })
    }
    this.admission.count(key, n > 0 ? 1 : -1)
  }

  #perform(member: Member, effect: Effect): void {
    switch (effect.do) {
      case 'run':
        return this.addRun(runOf(this, member, effect))
      case 'child':
        return this.#addChild(member, effect)
      case 'gate':
        return openGate(this, member, effect.place, effect.args)
      case 'appeal':
        return openAppeal(this, member, effect)
      case 'items': {
        member.items.set(`${effect.node}/${effect.fire}`, { first: effect.from, values: effect.values })
        return this.freeze(member, effect.node, effect.fire, effect.from, effect.values)
      }
      case 'redrive':
        return redrive(this, member, effect)
      case 'cancel-run':
        return this.#cancelUnstarted(effect.id)
      case 'cancel-child':
        return this.follow(effect.id, { kind: 'cancel', undo: effect.undo })
      case 'close-gate':
        return closeGate(this, member, effect.id)
      case 'signal-active':
        this.signalled.add(member.row.id)
        return cutOff(this, member)
      case 'deadline':
        member.row = { ...member.row, deadlineAt: effect.inMs === null ? null : this.now + effect.inMs }
        return
      case 'event':
        if (effect.type === 'node.rerun') this.#notFinal(member.row.id, effect.node)
        return this.event(member, effect.type, effect.node, effect.data)
      case 'end':
        return this.#end(member)
    }
  }

  /**
   * A new run, unless an earlier instance already did this work: then its result is taken over. One that was given what
   * it must not be has failed before anybody could take it.
   */
  addRun(run: RunRow, actor: string | null = null): void {
    this.newRuns.set(run.id, run)
    const { to: created, event } = transitionOf(null, 'create')
    if (run.status === 'failed' && run.instanceId !== null) {
      const error = JSON.parse(run.error ?? 'null') as Failure
      this.runEvent(run, event, null)
      this.runEvent(run, transitionOf(created, 'refuse').event, {
        error: error as unknown as Json,
        attempt: run.attempt,
      })
      return this.follow(run.instanceId, { kind: 'ended', place: placeOf(run), outcome: { kind: 'failed', error } })
    }
    if (run.status === 'succeeded' && run.instanceId !== null) {
      this.runEvent(run, event, { taken_over: true })
      this.runEvent(run, transitionOf(created, 'take_over').event, null)
      this.recordResult(run)
      const set = this.taken.get(run.id)
      const outcome = { kind: 'succeeded' as const, ...(set === undefined ? {} : { set }) }
      return this.follow(run.instanceId, { kind: 'ended', place: placeOf(run), outcome })
    }
    this.#created.set(run.id, this.events.length)
    const due = run.runAt > this.now ? { run_at: iso(run.runAt) } : null
    const counted = this.counted.get(run.id)
    this.runEvent(run, event, counted === undefined ? due : { ...due, ...counted }, actor)
  }

  /** The `created` event of a run that is handed out at once tells its lease as well. */
  handedOut(run: RunRow): void {
    this.newRuns.set(run.id, run)
    const at = this.#created.get(run.id)
    const event = at === undefined ? undefined : this.events[at]
    if (at === undefined || event === undefined) return
    this.events[at] = {
      ...event,
      data: JSON.stringify({
        leased_at: iso(run.leasedAt),
        leased_by: unscopedName(run.leasedBy),
        ...this.counted.get(run.id),
      }),
    }
  }

  #addChild(member: Member, effect: Extract<Effect, { do: 'child' }>): void {
    const spec: ChildSpec = {
      place: effect.place,
      netHash: effect.net,
      attached: effect.attached,
      args: effect.args,
      rendered: effect.rendered,
      item: effect.item,
    }
    childInstance(this, member, spec)
  }

  /** Runs at hand that what happens may send back to work, by place. */
  readonly redrives = new Map<string, Redrive>()

  #cancelUnstarted(id: string): void {
    const run = this.run(id) ?? this.#unstartedRow(id)
    this.finish(run, { ...CANCELLED_UNSTARTED, now: this.now })
  }

  #unstartedRow(id: string): RunRow {
    for (const rows of this.loaded.unstarted.values()) {
      const row = rows.find((r) => r.id === id)
      if (row !== undefined) return row
    }
    throw new Error(`run ${id} was not loaded`)
  }

  /** Ends a run: row, event, result, limits. Does not tell the instance. */
  finish(run: RunRow, how: Finish): RunRow {
    if (run.status === 'leased') this.admission.release(run)
    const member = run.instanceId === null ? null : this.member(run.instanceId)
    const { to, event } = transitionOf(run.status, how.happening, how.guard)
    const row = finished(run, to, how, member === null ? null : member.seq + 1)
    const data = storyOf(run, how.told)
    if (how.error !== null) Object.assign(data, reasonOf(how.error), { error: how.error })
    if (to !== 'succeeded') data.attempt = row.attempt
    this.replace(row)
    this.runEvent(row, event, Object.keys(data).length === 0 ? null : data)
    if (to === 'succeeded') this.recordResult(row)
    if (row.instanceId === null) this.endedIds.push(row.id)
    return row
  }

  /** The failure of this node that has just been told is not its last word: the net has the work done once more. */
  #notFinal(instanceId: string, node: string | null): void {
    const at = this.events.findLastIndex((e) => e.instanceId === instanceId && e.node === node && FAILURES.has(e.type))
    const event = this.events[at]
    if (event === undefined) return
    const data = event.data === null ? {} : (JSON.parse(event.data) as { readonly [key: string]: Json })
    this.events[at] = { ...event, data: JSON.stringify({ ...data, rerun: true }) }
  }

  /** Puts the changed row where it belongs: a run born in this transaction is still inserted once. */
  replace(row: RunRow): void {
    if (this.newRuns.has(row.id)) this.newRuns.set(row.id, row)
    else this.runs.set(row.id, row)
  }

  recordResult(run: RunRow): void {
    this.results.note(run)
  }

  /** Results of plain nodes recorded in this transaction. */
  plainResults(instanceId: string): ReadonlyMap<string, string | null> {
    const found = new Map<string, string | null>()
    for (const node of this.members.get(instanceId)?.net.byKey.keys() ?? []) {
      const result = this.results.get(`${instanceId}/${node}`)
      if (result !== undefined) found.set(node, result)
    }
    return found
  }

  /** Keeps items for later portions, in chunks. */
  freeze(member: Member, node: string, fire: number, from: number, values: readonly Json[]): void {
    for (const chunk of chunksOf(values)) {
      this.chunks.push({ instanceId: member.row.id, node, fire, first: from + chunk.first, values: chunk.text })
    }
  }

  #end(member: Member): void {
    const { row } = member
    member.row = { ...row, endedAt: this.now }
    this.endedIds.push(row.id)
    // Why it failed may have been known long before: a failure that nothing handled drains nothing.
    const error =
      row.state === 'failed' && row.reason === null ? errorOf(this, member) : (member.slots.get(SLOT.error.key) ?? null)
    this.event(member, `instance.${row.state}`, null, {
      outcome: row.outcome,
      ...(error === null ? {} : { error: error as unknown as Json }),
    })
    childEnded(this, member)
  }

  event(member: Member, type: string, node: string | null, data: Json | null, actor: string | null = null): void {
    member.dirty = true
    const { id, tenant } = member.row
    this.events.push({
      runId: null,
      instanceId: id,
      seq: ++member.seq,
      type,
      node,
      actor,
      tenant,
      data: data === null ? null : JSON.stringify(data),
      at: this.now,
    })
  }

  runEvent(run: RunRow, type: string, data: Json | null, actor: string | null = null): void {
    let seq: number | null = null
    if (run.instanceId !== null) {
      const member = this.member(run.instanceId)
      member.dirty = true
      seq = ++member.seq
    }
    this.events.push({
      runId: run.id,
      instanceId: run.instanceId,
      seq,
      type,
      node: run.node,
      actor,
      tenant: run.tenant,
      data: data === null ? null : JSON.stringify(data),
      at: this.now,
    })
  }

  /** The first start of any run is the instance's. */
  noteStart(run: RunRow, startedAt: number | null): void {
    if (run.instanceId === null || startedAt === null) return
    for (let id: string | null = run.instanceId; id !== null; ) {
      const member = this.member(id)
      if (member.row.startedAt !== null) return
      member.row = { ...member.row, startedAt }
      this.event(member, 'instance.started', null, null)
      id = member.row.parentNode === null ? null : member.row.parentId
    }
  }
}

/** Lines that tell that a node's work has failed. */
const FAILURES: ReadonlySet<string> = new Set(['failed', 'gate.rejected', 'node.failed'])

/** Whatever is still open in it is active, and need not go on. */
function isUnwanted({ phase, reason, open, more }: InstanceRow): boolean {
  return phase === 'drain' && open > 0 && !more && (reason === 'cancel' || reason === 'deadline')
}
