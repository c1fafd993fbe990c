/**
 * One trial: a net, a script of numbers, and two players of it, the oracle and the world around `fire`. After every
 * step both are compared; the world checks its laws by itself. When the script is used up, the instance is driven to
 * its end.
 */
import type { Entries, Failure, Happening, Outcome } from '../../src/net/marking.ts'
import type { Json } from '../../src/net/net.ts'
import { undoesInPlace } from '../../src/net/transitions.ts'
import { LawBroken } from './laws.ts'
import type { NetCase } from './nets.ts'
import { Oracle, type OracleHappening } from './oracle.ts'
import type { Piece } from './pieces.ts'
import { type Implementation, type Row, World } from './world.ts'

export class Disagreement extends Error {}

const FINISH_STEPS = 1_500
const error = { code: 'test', message: 'as the script says' }
const FAILURES: readonly Failure[] = [
  error,
  { ...error, category: 'governance' },
  { ...error, category: 'transient' },
  { ...error, category: 'validation' },
  error,
  { ...error, category: 'governance' },
  { ...error, retryable: false },
]
const PATCHES: readonly { readonly [name: string]: Json }[] = [
  { k0: true },
  { k0: false, k1: false },
  { k1: true },
  { k2: true },
  { k2: false, k0: true },
  { k1: true, k0: true },
]

/** What workers write into the context; most write nothing. */
const WRITTEN: readonly ({ readonly [name: string]: Json } | undefined)[] = [
  undefined,
  undefined,
  undefined,
  { k0: true },
  undefined,
  { k1: false, w: 'written' },
]

export class Trial {
  readonly oracle: Oracle
  readonly world: World
  readonly log: string[] = []
  readonly #case: NetCase
  readonly #delivered: Happening[] = []
  readonly seen = new Set<string>()
  #ends = 0

  constructor(implementation: Implementation, netCase: NetCase) {
    this.#case = netCase
    this.oracle = new Oracle(netCase.net, netCase.items)
    this.world = new World(implementation, netCase.net, netCase.items)
  }

  play(script: Iterable<number>): void {
    let first = true
    for (const number of script) {
      const choice = number & 255
      const which = number >> 8
      // One instance in thirty receives a happening before it starts. One in sixteen is idle, and receives another one
      // before it is queued.
      if (first && which % 16 === 7 && this.#delivered.length === 0) {
        this.#idle(choice, which)
        if (this.oracle.phase === 'ended') break
        continue
      }
      if (first && choice < 240 && choice !== 160) this.#deliver({ kind: 'start' }, { kind: 'start' })
      else this.#step(choice, which)
      first = false
      if (this.oracle.phase === 'ended') break
    }
    this.#finish()
    this.#afterTheEnd()
    for (const what of this.oracle.seen) this.seen.add(what)
    if (this.world.cutOffs > 0) this.seen.add('cut-off cascade')
    for (const what of this.world.seen) this.seen.add(what)
  }

  #idle(choice: number, which: number): void {
    this.oracle.state = 'idle'
    this.world.beIdle()
    this.seen.add('state idle')
    if (choice < 64) this.#deliver({ kind: 'start' }, { kind: 'start' })
    else if (choice < 128) this.#deliver({ kind: 'engine_error', error }, { kind: 'engine_error', error })
    else if (choice < 192) this.#deliver({ kind: 'deadline' }, { kind: 'deadline' })
    else this.#step(choice, which)
    // A happening refused then would not be a repeat later.
    this.#delivered.length = 0
    this.#deliver({ kind: 'queue' }, { kind: 'queue' })
  }

  #step(choice: number, which: number): void {
    const open = this.oracle.open()
    if (choice < 150 && open.length > 0) return this.#work(open[which % open.length]!, choice, which)
    if (choice < 190) return this.#patch(which)
    if (choice < 220) return this.#repeat(which)
    if (choice < 236) return this.#late(which)
    if (choice < 242) return this.#plain('cancel')
    if (choice < 246) return this.#deliver({ kind: 'engine_error', error }, { kind: 'engine_error', error }, 'forward')
    if (choice < 252) return this.#plain('deadline')
    this.#plain(choice < 254 ? 'cancel' : 'roll-back')
  }

  #work(piece: Piece, choice: number, which: number): void {
    const forbidden = piece.node.appeal !== undefined && which % 3 !== 0
    const error = FAILURES[forbidden ? 1 : (choice + which) % FAILURES.length]!
    const set = WRITTEN[(choice ^ which) % WRITTEN.length]
    if (piece.kind === 'gate') return this.#end(piece, choice < 105 ? 'succeeded' : 'failed', error)
    if (choice < 20 && !piece.started) {
      this.#start(piece)
      return
    }
    // An undo that does not succeed ends everything: most succeed, otherwise no long list would ever be undone.
    if (choice < (piece.role === 'undo' ? 130 : 95)) return this.#end(piece, 'succeeded', error, set)
    if (choice < 120 || (choice < 134 && piece.role === 'undo')) return this.#end(piece, 'failed', error, set)
    if (choice < 138) return this.#end(piece, 'unknown', error, set)
    this.#end(piece, piece.kind === 'run' && piece.started ? 'failed' : 'cancelled', error)
  }

  #row(piece: Piece): Row {
    const { kind, nth, item, role } = piece
    return this.world.row({ kind, nth, node: piece.node.key, item, role })
  }

  #start(piece: Piece): void {
    this.log.push(`started ${name(piece)}`)
    piece.started = true
    this.#row(piece).started = true
  }

  #end(piece: Piece, kind: Outcome['kind'], error: Failure = FAILURES[0]!, set?: Entries): void {
    const row = this.#row(piece)
    if (kind !== 'cancelled') {
      piece.started = true
      row.started = true
    }
    row.open = false
    row.succeeded = kind === 'succeeded' && piece.about === null
    row.endedAt = ++this.#ends
    const { place } = row
    const wrote = set === undefined || kind === 'cancelled' ? {} : { set }
    const outcome: Outcome = kind === 'failed' || kind === 'unknown' ? { kind, error, ...wrote } : { kind, ...wrote }
    const approved = kind === 'succeeded'
    const happening: Happening =
      row.kind === 'gate'
        ? { kind: 'answered', place, approved, error: approved ? null : error }
        : { kind: 'ended', place, outcome }
    this.#deliver(happening, { kind: 'ended', piece, outcome: kind, error, ...wrote })
  }

  #patch(which: number): void {
    const set = PATCHES[which % PATCHES.length]!
    this.#deliver({ kind: 'patched', set }, { kind: 'patched', set })
  }

  #plain(kind: 'cancel' | 'roll-back' | 'deadline'): void {
    const { timeoutMs, undoTimeoutMs } = this.#case.net
    const phase = this.oracle.phase
    // A clock that was never set does not fire.
    if (kind === 'deadline' && (phase === 'undo' ? undoTimeoutMs : timeoutMs) === null) return
    this.#deliver({ kind }, { kind })
  }

  /** A success reported for work that was recorded as unknown; the store's row shows whether it was reported before. */
  #late(which: number): void {
    const unknown = this.oracle.pieces.filter((p) => p.state === 'unknown' && p.role === 'work' && !this.#row(p).late)
    const piece = unknown[which % Math.max(1, unknown.length)]
    if (piece === undefined) return
    const row = this.#row(piece)
    row.late = true
    const result = `late ${piece.nth}`
    this.#deliver({ kind: 'late', place: row.place, result }, { kind: 'late', piece, result })
  }

  /**
   * A happening is repeated. Repetitions that the store's fencing stops never reach fire; the others must have no
   * effect.
   */
  #repeat(which: number): void {
    const old = this.#delivered[which % Math.max(1, this.#delivered.length)]
    if (old === undefined) return
    const { phase } = this.oracle
    const fenced = old.kind === 'ended' || old.kind === 'late' || (old.kind === 'answered' && phase === 'forward')
    if (fenced && phase !== 'ended') return
    if (old.kind === 'patched') return this.#deliver(old, old)
    if (old.kind === 'cancel' || old.kind === 'roll-back' || old.kind === 'deadline') return this.#plain(old.kind)
    if (old.kind === 'engine_error' && phase !== 'forward') return
    this.seen.add(`repeat ${old.kind}`)
    this.log.push(`again ${old.kind}`)
    this.world.happen(old)
    this.#compare()
  }

  #deliver(happening: Happening, happened: OracleHappening, only?: 'forward'): void {
    if (only !== undefined && this.oracle.phase !== only) return
    this.seen.add(`happening ${happening.kind}`)
    this.log.push(describe(happening))
    this.#delivered.push(happening)
    this.world.happen(happening)
    this.oracle.happen(happened)
    this.#compare()
  }

  /** Everything open succeeds, oldest first; held tokens are admitted by a patch, or else cancelled. */
  #finish(): void {
    if (this.oracle.state === 'queued') this.#deliver({ kind: 'start' }, { kind: 'start' })
    if (this.#case.big) this.#plain('cancel')
    for (let steps = 0, idle = 0; this.oracle.phase !== 'ended'; steps += 1) {
      if (steps > FINISH_STEPS)
        throw new LawBroken(`does not end; ${this.oracle.phase}, ${this.oracle.open().length} open`)
      const next = this.oracle.open()[0]
      if (next !== undefined) this.#end(next, 'succeeded')
      else if (idle < PATCHES.length) this.#patch(idle++)
      else this.#plain('cancel')
    }
  }

  #afterTheEnd(): void {
    const ended = this.oracle.phase
    if (ended !== 'ended') return
    // A rollback continues in place with late reports; the engine delivers each once.
    const continues = undoesInPlace(this.oracle.net) && this.oracle.outcome?.startsWith('rolled_back') === true
    const heard = this.#delivered.slice(-3).filter(({ kind }) => kind !== 'late' || !continues)
    for (const old of heard) this.world.happen(old)
    this.world.happen({ kind: 'start' })
    this.world.happen({ kind: 'cancel' })
    this.world.happen({ kind: 'deadline' })
    this.world.happen({ kind: 'continue' })
    this.world.happen({ kind: 'patched', set: { k0: true } })
    this.world.happen({ kind: 'engine_error', error })
    const row = this.world.rows[0]
    if (row !== undefined && !continues) this.world.happen({ kind: 'late', place: row.place })
    this.#compare()
  }

  #compare(): void {
    const expected = oracleSays(this.oracle)
    const did = worldDid(this.world)
    for (const field of Object.keys(expected) as (keyof typeof expected)[]) {
      if (same(expected[field], did[field])) continue
      throw new Disagreement(
        `${field}: oracle ${show(expected[field])}, fire ${show(did[field])}, error slot ${show(this.world.slots.get('e'))}`,
      )
    }
  }
}

function oracleSays(oracle: Oracle) {
  const { phase, state, outcome, reason, account } = oracle
  const forward = phase === 'forward' && state !== 'queued' && state !== 'idle'
  const open = oracle.open()
  return {
    phase,
    state,
    outcome,
    reason,
    open: phase === 'ended' ? [] : open.map((p) => `${name(p)} ${p.kind} ${given(p.args)}`).sort(),
    succeeded: oracle.succeeded(),
    failed: oracle.failed(),
    unhandled: account.unhandled,
    error: account.error === null ? null : `${account.error.code} at ${account.error.node}`,
    held: forward ? oracle.held() : 0,
    live: forward ? oracle.live() : 0,
    scopes: forward
      ? oracle
          .openScopes()
          .map((s) => `live ${oracle.live(s)} arrived ${s.arrived}`)
          .sort()
      : [],
    context: [...account.context]
      .filter(([, value]) => value !== null)
      .map(([key, value]) => `${key}=${given(value)}`)
      .sort(),
    undoList: phase === 'final' || phase === 'ended' ? [] : oracle.undoList.map(place),
    undone: oracle.undone.map(place),
    detached: [...account.detached].sort(),
    finals: oracle.pieces
      .filter((p) => p.role === 'final')
      .map((p) => p.node.key)
      .sort(),
  }
}

function worldDid(world: World): ReturnType<typeof oracleSays> {
  const { phase, state, outcome, reason, succeeded, failed, unhandled, held, live } = world.marking
  const forward = phase === 'forward' && state !== 'queued' && state !== 'idle'
  const slots = [...world.slots].sort(([a], [b]) => (a < b ? -1 : 1))
  const under = (prefix: string) => slots.filter(([key]) => key.startsWith(prefix))
  const open = world.rows.filter((row) => row.open)
  const undoing = phase !== 'final' && phase !== 'ended'
  return {
    phase,
    state,
    outcome,
    reason,
    open:
      phase === 'ended'
        ? []
        : open.map((row) => `${rowPlace(row)} ${row.place.role} ${row.kind} ${given(row.args)}`).sort(),
    succeeded,
    failed,
    unhandled,
    error: errorIn(world.slots.get('e') ?? null),
    held: forward ? held : 0,
    live: forward ? live : 0,
    scopes: forward
      ? under('s:')
          .map(([, value]) => scopeSlot(value))
          .sort()
      : [],
    context: under('c:')
      .map(([key, value]) => `${key.slice(2)}=${given(value)}`)
      .sort(),
    undoList: undoing ? under('u:').map(([, value]) => undoSlot(world, value)) : [],
    undone: world.undoOrder.map(rowPlace),
    detached: [...world.detached].sort(),
    finals: world.rows
      .filter((row) => row.place.role === 'final')
      .map((row) => row.place.node)
      .sort(),
  }
}

const written = new WeakMap<object, string>()

/** Arguments never change, and are compared after every step. */
function given(args: Json | null): string {
  if (typeof args !== 'object' || args === null) return JSON.stringify(args)
  const known = written.get(args) ?? inOrder(args)
  written.set(args, known)
  return known
}

/** Names in a fixed order, and without the messages of failures, which are for people. */
function inOrder(args: Json): string {
  return JSON.stringify(args, (key, value: unknown) => {
    if (key === 'message') return undefined
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

function errorIn(slot: Json): string | null {
  const error = slot as { readonly code: string; readonly node: string | null } | null
  return error === null ? null : `${error.code} at ${error.node}`
}

function scopeSlot(value: Json): string {
  const scope = value as { readonly live: number; readonly arrived?: number }
  return `live ${scope.live} arrived ${scope.arrived ?? 0}`
}

function undoSlot(world: World, value: Json): string {
  const at = value as { readonly node: string; readonly fire: number; readonly item: number }
  const row = world.rows.find((r) => r.place.node === at.node && r.place.fire === at.fire && r.place.item === at.item)
  return row === undefined ? `nothing at ${JSON.stringify(value)}` : rowPlace(row)
}

function place(piece: Piece): string {
  return `${piece.node.key}#${piece.nth}/${piece.item}`
}

function name(piece: Piece): string {
  return `${place(piece)} ${piece.role}`
}

function rowPlace(row: Row): string {
  return `${row.place.node}#${row.nth}/${row.place.item}`
}

function describe(happening: Happening): string {
  switch (happening.kind) {
    case 'ended':
      return `${happening.outcome.kind} ${happening.place.node}@${happening.place.fire}/${happening.place.item} ${happening.place.role}`
    case 'answered':
      return `${happening.approved ? 'approved' : 'rejected'} ${happening.place.node}@${happening.place.fire}`
    case 'late':
      return `late ${happening.place.node}@${happening.place.fire}/${happening.place.item}`
    case 'patched':
      return `patched ${JSON.stringify(happening.set)}`
    default:
      return happening.kind
  }
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function show(value: unknown): string {
  return JSON.stringify(value)
}
