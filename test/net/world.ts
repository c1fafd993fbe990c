/**
 * The world around `fire`: holds what a store would hold (slots, items, runs, gates, children), returns facts only
 * after `fire` has requested them, carries out the effects, and refuses what a store's keys would refuse.
 */
import type { Facts, Missing, Ran } from '../../src/net/facts.ts'
import type * as Core from '../../src/net/index.ts'
import { type Effect, type Happening, type Marking, type Place, TERMINAL } from '../../src/net/marking.ts'
import type { Json, Net } from '../../src/net/net.ts'
import { evaluate } from './expression.ts'
import { LawBroken, law } from './laws.ts'
import { wholeArgs } from './separate-arguments.ts'
import { kindsOf } from './slot-kinds.ts'

/** The implementation under test: the real one, or a planted mutant of it. */
export type Implementation = Pick<typeof Core, 'compileNet' | 'fire' | 'newMarking'>

export interface Row {
  readonly id: string
  readonly kind: 'run' | 'gate' | 'child'
  readonly place: Place
  /** Index of the firing of its node that created it, from 0: comparable with the oracle's. */
  readonly nth: number
  readonly args: Json | null
  started: boolean
  open: boolean
  late: boolean
  /** How it ended and when, counted from 1: set by the driver before the happening that reports it. */
  succeeded: boolean
  endedAt: number
}

export const INSTANCE = 'the instance'

/** The result of work: which firing of its node it was, and which item. */
export function resultAt(nth: number, item: number): Json {
  return item < 0 ? `done ${nth}` : `done ${nth}/${item}`
}

/** The nth detached child of a node. */
export function startedChild(node: string, nth: number): Json {
  return { status: 'started', execution_id: `child of ${node} #${nth}` }
}

const FACT_ROUNDS = 200
const RECORDED_ON_REQUEST = new Set([
  'node.admitted',
  'node.fired',
  'node.routed',
  'node.item_ended',
  'each.opened',
  'each.closed',
])
/** Every so many fires it fires twice: a pure function returns the same. */
const TWICE = 5

export class World {
  marking: Marking
  readonly slots = new Map<string, Json>()
  readonly rows: Row[] = []
  readonly detached: string[] = []
  readonly undoOrder: Row[] = []
  /** As last set by an effect; undefined: never set. */
  deadline: number | null | undefined
  ends = 0
  fires = 0
  cutOffs = 0
  /** The kinds of cases that occurred: for coverage only. */
  readonly seen = new Set<string>()
  /** Children that were asked to stop. */
  readonly askedToCancel = new Set<string>()

  readonly #implementation: Implementation
  readonly #net: ReturnType<Implementation['compileNet']>
  readonly #literal: { readonly [node: string]: readonly Json[] }
  /** Items of expressions: only those that were not issued at once are kept. */
  readonly #frozen = new Map<string, { readonly from: number; readonly values: readonly Json[] }>()
  readonly #byPlace = new Map<string, Row>()
  readonly #nths = new Map<string, number[]>()
  /** The row whose end is reported by the current happening. */
  #justEnded: Row | null = null

  constructor(implementation: Implementation, net: Net, literal: { readonly [node: string]: readonly Json[] }) {
    this.#implementation = implementation
    this.#net = implementation.compileNet(net)
    this.#literal = literal
    this.marking = implementation.newMarking('queued')
    this.slots.set('in', {})
    for (const [node, items] of Object.entries(literal)) this.slots.set(`n:${node}`, items.length)
  }

  beIdle(): void {
    this.marking = this.#implementation.newMarking('idle')
  }

  row(p: Pick<Row, 'kind' | 'nth'> & Pick<Place, 'node' | 'item' | 'role'>): Row {
    const { kind, nth, node, item, role } = p
    const found = this.rows.find(({ place, ...r }) => {
      return r.kind === kind && r.nth === nth && place.node === node && place.item === item && place.role === role
    })
    law(found !== undefined, `no ${kind} at ${node} #${nth} item ${item} role ${role}`)
    return found
  }

  /** One happening, and then as many `continue`s as the cascade needs. */
  happen(happening: Happening): void {
    this.#justEnded = happening.kind === 'ended' ? (this.#byPlace.get(idOf(happening.place)) ?? null) : null
    this.fireOnce(happening)
    this.#justEnded = null
    for (let rounds = 0; this.marking.more; rounds += 1) {
      law(rounds < 1000, 'a cut-off cascade never ends')
      this.fireOnce({ kind: 'continue' })
    }
  }

  fireOnce(happening: Happening): readonly Effect[] {
    const before = this.marking
    const { fired } = this.#fireWithFacts(happening)
    this.fires += 1
    if (fired.marking.more) this.cutOffs += 1
    const real = fired.effects.filter((effect) => effect.do !== 'event')
    if (before.phase === 'ended') {
      law(same(fired.marking, before), `${happening.kind} after the end changed the marking`)
      law(fired.slots.size === 0, `${happening.kind} after the end changed slots`)
      law(real.length === 0, `${happening.kind} after the end had the effect ${real[0]?.do}`)
    }
    this.marking = fired.marking
    for (const [key, value] of fired.slots) {
      law(kindsOf(key).length > 0, `slot '${key}' is of no declared kind`)
      if (value === null) this.slots.delete(key)
      else this.slots.set(key, value)
    }
    for (const effect of fired.effects) this.#perform(effect)
    this.#checkCounters(before)
    return fired.effects
  }

  #fireWithFacts(happening: Happening): Extract<ReturnType<Implementation['fire']>, { readonly fired: unknown }> {
    const loaded = new Set<string>()
    const facts = this.#facts(loaded)
    for (let round = 0; round < FACT_ROUNDS; round += 1) {
      const result = this.#implementation.fire(this.#net, Object.freeze(this.marking), facts, happening, evaluate)
      if ('fired' in result) {
        if (this.fires % TWICE === 0) {
          const again = this.#implementation.fire(this.#net, this.marking, facts, happening, evaluate)
          law(flat(again) === flat(result), `fire of ${happening.kind} gives something else the second time`)
        }
        return result
      }
      law(result.missing.length > 0, 'fire misses nothing, yet did not fire')
      const news = result.missing.filter((missing) => !loaded.has(name(missing)))
      law(news.length > 0, `fire asks again for what it was given: ${result.missing.map(name).join(', ')}`)
      for (const missing of news) loaded.add(name(missing))
    }
    throw new LawBroken(`fire asked for facts ${FACT_ROUNDS} times`)
  }

  #facts(loaded: ReadonlySet<string>): Facts {
    const given = <T>(missing: Missing, value: () => T): T | undefined =>
      loaded.has(name(missing)) ? value() : undefined
    const under = (prefix: string) =>
      [...this.slots]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, value]) => ({ key, value }))
        .sort(byKey)
    const ids = (kind: Row['kind'], limit: number, started: boolean) =>
      this.rows
        .filter((row) => row.kind === kind && row.open && (started || !row.started) && !this.askedToCancel.has(row.id))
        .slice(0, limit)
        .map((row) => row.id)
    return {
      slot: (key) => given({ fact: 'slot', key }, () => this.slots.get(key) ?? null),
      slotsWith: (prefix) => given({ fact: 'slotsWith', prefix }, () => under(prefix)),
      topSlot: (prefix) => given({ fact: 'topSlot', prefix }, () => under(prefix).at(-1) ?? null),
      instance: INSTANCE,
      result: (node, fire) =>
        given({ fact: 'result', node, ...(fire === undefined ? {} : { fire }) }, () => this.#result(node, fire)),
      ran: () => given({ fact: 'ran' }, () => this.#ran()),
      childId: (node, fire) => this.#childId(node, fire),
      items: (node, fire, from, count) =>
        given({ fact: 'items', node, fire, from, count }, () => this.#items(node, fire, from, count)),
      unstarted: (limit) => given({ fact: 'unstarted', limit }, () => ids('run', limit, false)),
      openChildren: (limit) => given({ fact: 'openChildren', limit }, () => ids('child', limit, true)),
      openGates: (limit) => given({ fact: 'openGates', limit }, () => ids('gate', limit, true)),
    }
  }

  /** The result of work is its place: comparable with the oracle's result of the same place. */
  #result(node: string, fire: number | undefined): Json {
    const { kind } = this.#net.byKey.get(node)!.work
    const rows = this.rows.filter(({ place }) => place.node === node && place.role === 'work')
    // A reply, and the child of a node, are kept in a slot that the next one overwrites.
    if (fire === undefined && (kind === 'gate' || kind === 'child')) {
      const ended = rows.filter((row) => row.endedAt > 0 && (kind === 'child' || row.succeeded))
      const last = ended.sort((a, b) => b.endedAt - a.endedAt)[0]
      return last?.succeeded ? resultAt(last.nth, -1) : null
    }
    const done = rows.filter((row) => row.succeeded)
    const just = kind === 'run' && done.includes(this.#justEnded!) ? this.#justEnded!.place.fire : undefined
    const last = fire ?? just ?? done.reduce((latest, { place }) => Math.max(latest, place.fire), 0)
    const own = done.filter(({ place }) => place.fire === last)
    if (kind !== 'each') return own[0] === undefined ? null : resultAt(own[0].nth, -1)
    if (own.length === 0 && fire === undefined) return null
    return Object.fromEntries(own.map(({ nth, place }) => [place.item, resultAt(nth, place.item)]))
  }

  #childId(node: string, fire: number): string {
    const fires = this.#nths.get(`detached ${node}`) ?? []
    if (!fires.includes(fire)) this.#nths.set(`detached ${node}`, [...fires, fire])
    return `child of ${node} #${(this.#nths.get(`detached ${node}`) ?? []).indexOf(fire)}`
  }

  #ran(): readonly Ran[] {
    const rows = this.rows.filter(({ kind, place }) => kind !== 'gate' && place.role === 'work')
    return [...new Set(rows.map(({ place }) => place.node))].map((node) => {
      const own = rows.filter(({ place }) => place.node === node)
      return {
        node,
        fires: new Set(own.map(({ place }) => place.fire)).size,
        runs: own.filter(({ kind }) => kind === 'run').length,
        done: own.some(({ succeeded }) => succeeded),
      }
    })
  }

  #items(node: string, fire: number, from: number, count: number): readonly Json[] {
    const frozen = this.#frozen.get(`${node} ${fire}`)
    if (frozen === undefined) return (this.#literal[node] ?? []).slice(from, from + count)
    law(from >= frozen.from, `item ${from} of ${node} is asked for, but was never frozen`)
    return frozen.values.slice(from - frozen.from, from - frozen.from + count)
  }

  #perform(effect: Effect): void {
    switch (effect.do) {
      case 'run':
      case 'gate':
        return this.#create(effect.do, effect.place, effect.args)
      case 'appeal': {
        const about = this.#at(effect.of)
        law(about.kind === 'run' && !about.open, `appeal of ${about.id}, which is not an ended run`)
        return this.#create('gate', effect.place, null, `appeal ${effect.place.node}`)
      }
      case 'redrive': {
        const row = this.#at(effect.place)
        law(row.kind === 'run' && !row.open, `redrive of ${row.id}, which is not an ended run`)
        row.open = true
        row.started = false
        return
      }
      case 'child':
        if (effect.attached) this.#create('child', effect.place, effect.args)
        else this.detached.push(`${effect.place.node} ${JSON.stringify(effect.args)}`)
        return
      case 'items': {
        const key = `${effect.node} ${effect.fire}`
        law(!this.#frozen.has(key), `items of ${key} frozen twice`)
        this.#frozen.set(key, { from: effect.from, values: effect.values })
        return
      }
      case 'cancel-run': {
        const row = this.#byId(effect.id)
        law(row.kind === 'run' && row.open && !row.started, `cancel-run of ${row.id}, which is not an unstarted run`)
        row.open = false
        return
      }
      case 'close-gate': {
        const row = this.#byId(effect.id)
        law(row.kind === 'gate' && row.open, `close-gate of ${row.id}, which is not an open gate`)
        row.open = false
        return
      }
      case 'cancel-child':
        law(this.#byId(effect.id).kind === 'child', `cancel-child of ${effect.id}, which is no child`)
        law(
          effect.undo === (this.marking.state === 'compensating'),
          'a child undoes its work exactly if its parent does',
        )
        this.askedToCancel.add(effect.id)
        return
      case 'deadline':
        this.deadline = effect.inMs
        return
      case 'end':
        this.ends += 1
        law(this.ends === 1, 'the instance ended twice')
        law(
          effect.state === this.marking.state && effect.outcome === this.marking.outcome,
          'end effect unlike the marking',
        )
        return
      case 'event':
        return this.#heard(effect.type, effect.node)
      case 'signal-active':
        return
    }
  }

  #heard(type: string, node: string | null): void {
    const { tells } = this.#net.net
    law(tells === true || !RECORDED_ON_REQUEST.has(type), `${type} of ${node} is recorded without a request`)
    this.seen.add(`recorded ${type}`)
  }

  #at(place: Place): Row {
    return this.#byId(idOf(place))
  }

  #create(kind: Row['kind'], place: Place, args: Json | null, group?: string): void {
    const id = idOf(place)
    law(!this.#byPlace.has(id), `work at ${id} created twice`)
    const label = group ?? (place.role === 'final' ? `final ${place.node}` : place.node)
    const firesOfNode = this.#nths.get(label) ?? []
    if (!firesOfNode.includes(place.fire)) firesOfNode.push(place.fire)
    this.#nths.set(label, firesOfNode)
    const nth = firesOfNode.indexOf(place.fire)
    const state = { started: false, open: true, late: false, succeeded: false, endedAt: 0 }
    const row: Row = {
      id,
      kind,
      place,
      nth,
      args: kind === 'run' ? wholeArgs(this.#net, this.slots, args, this.seen) : args,
      ...state,
    }
    if (place.role === 'undo') {
      const work = this.#byPlace.get(`${place.node}/${place.fire}/${place.item}/work`)
      law(work !== undefined && !work.open, `undo of ${id}, which is not ended work`)
      law(!this.rows.some((r) => r.open && r.place.role === 'undo'), 'two undos at a time')
      this.undoOrder.push(row)
    }
    if (place.role === 'final') {
      law(place.scope === '' && place.item === -1, `final ${id} outside the root scope`)
      law(
        !this.rows.some((r) => r.place.node === place.node && r.place.role === 'final'),
        `final ${place.node} fired twice`,
      )
    }
    this.#byPlace.set(id, row)
    this.rows.push(row)
  }

  #byId(id: string): Row {
    const row = this.#byPlace.get(id)
    law(row !== undefined, `effect names ${id}, which was never created`)
    return row
  }

  /** open = open rows, gates = open gates, no count is negative, nothing decreases. */
  #checkCounters(before: Marking): void {
    const { marking } = this
    for (const [field, value] of Object.entries(marking))
      law(typeof value !== 'number' || value >= 0, `${field} is ${value}`)
    for (const field of ['fires', 'doneSeq', 'succeeded', 'failed', 'unhandled', 'finalsFailed'] as const) {
      law(marking[field] >= before[field], `${field} fell from ${before[field]} to ${marking[field]}`)
    }
    if (marking.phase !== 'ended') {
      // A reported row is closed by the driver just before its happening is fired, so neither side counts it.
      const open = this.rows.filter((row) => row.open)
      law(marking.open === open.length, `open is ${marking.open}, but ${open.length} pieces of work are open`)
      const gates = open.filter((row) => row.kind === 'gate').length
      law(marking.gates === gates, `gates is ${marking.gates}, but ${gates} gates are open`)
      const waits =
        marking.phase === 'forward' && (marking.held > 0 || marking.state === 'queued' || marking.state === 'idle')
      law(marking.open > 0 || marking.more || waits, `stuck in ${marking.phase}: no work, no wait, no verdict`)
    } else {
      law(this.ends === 1, 'ended without an end effect')
    }
    law(!forbidden(before.state, marking.state), `went from ${before.state} to ${marking.state}`)
    if (before.phase !== 'drain' && marking.phase === 'drain' && this.deadline !== undefined) {
      law(this.deadline === null, 'the deadline was not cleared on entering drain')
    }
  }
}

/** Invariants within one happening, which may take several steps at once. */
function forbidden(from: Marking['state'], to: Marking['state']): boolean {
  if (from === to) return false
  if (from === 'idle') return to !== 'queued' && to !== 'cancelled'
  if (from === 'compensating') return to !== 'compensated' && to !== 'failed'
  if (from === 'cancelling') return to !== 'cancelled' && to !== 'failed'
  return to === 'idle' || to === 'queued' || TERMINAL.has(from)
}

function idOf({ node, fire, item, role }: Place): string {
  return `${node}/${fire}/${item}/${role}`
}

function name(missing: Missing): string {
  return JSON.stringify(missing)
}

function flat(result: object): string {
  return JSON.stringify(result, (_, value: unknown) => (value instanceof Map ? [...value] : value))
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : 1
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
