/**
 * The oracle: a second, straightforward implementation of docs/net.md. It has no slots, no bounds and no missing facts.
 * The forward phase is in flow.ts; the happenings and the later phases are here.
 */
import type { DrainReason, Failure, InstanceOutcome, InstanceState, Outcome } from '../../src/net/marking.ts'
import type { Json, Net } from '../../src/net/net.ts'
import { undoesInPlace } from '../../src/net/transitions.ts'
import { renderTemplate } from './expression.ts'
import { Flow } from './flow.ts'
import { Stop } from './memory.ts'
import { type Account, type Cause, type Piece, templateOf } from './pieces.ts'
import { INSTANCE } from './world.ts'

export interface OracleHappening {
  readonly kind: 'queue' | 'start' | 'ended' | 'late' | 'patched' | 'cancel' | 'roll-back' | 'deadline' | 'engine_error'
  readonly piece?: Piece
  readonly outcome?: Outcome['kind']
  /** Of a failed or unknown outcome. */
  readonly error?: Failure
  /** Of a patch, or what a worker wrote. */
  readonly set?: { readonly [name: string]: Json }
  /** Of a late success. */
  readonly result?: Json
}

const TIMED_OUT: Cause = { code: 'timeout', node: null }

export class Oracle extends Flow {
  state: InstanceState = 'queued'
  outcome: InstanceOutcome | null = null
  reason: DrainReason | null = null
  readonly undoList: Piece[] = []
  /** Places in the order in which their undo began. */
  readonly undone: Piece[] = []

  #started = false
  #ends = 0
  readonly #doubts = new Set<Piece>()
  /** Results of late successes. */
  readonly #lateResults = new Map<Piece, Json>()
  /** The state before the current happening. */
  #before: { readonly pieces: number; readonly account: Account } = { pieces: 0, account: this.account }

  // ---- happenings ---------------------------------------------------------------------------------------------

  happen(happening: OracleHappening): void {
    if (this.phase === 'ended') return
    const { phase } = this
    this.justEnded = null
    // Entries written by a worker stay written, whatever follows.
    if (happening.kind === 'ended' && happening.set !== undefined && happening.piece!.state === 'open') {
      this.seen.add(`set by a worker in ${phase}`)
      this.write(happening.set)
    }
    this.#before = { pieces: this.pieces.length, account: this.account }
    try {
      this.#take(happening)
      this.move()
    } catch (error) {
      if (!(error instanceof Stop)) throw error
    }
    this.#advance()
    if (this.phase === 'forward' && this.#started) {
      const open = this.open()
      const onlyGates = open.every((piece) => piece.kind === 'gate')
      this.state = onlyGates && (open.length > 0 || this.held() > 0) ? 'waiting' : 'running'
    }
    if (this.phase !== phase) this.seen.add(`phase ${phase} > ${this.phase}`)
    this.seen.add(`state ${this.state}`)
  }

  #take(happening: OracleHappening): void {
    switch (happening.kind) {
      case 'queue':
        if (this.state === 'idle') this.state = 'queued'
        return
      case 'start':
        if (this.#started || this.phase !== 'forward' || this.state === 'idle') return
        this.#started = true
        for (const key of this.net.entry) this.send(key, null, this.root)
        return
      case 'ended':
        if (happening.piece!.state === 'open')
          this.#ended(happening.piece!, happening.outcome!, happening.error ?? null)
        return
      case 'late':
        return this.#late(happening.piece!, happening.result ?? null)
      case 'patched':
        // In every phase: undos and finals read the context as well.
        return this.write(happening.set!)
      case 'cancel':
        if (!this.#started && this.phase === 'forward') return this.#end('cancelled', 'cancelled')
        // A rollback is not abandoned half way through its finals.
        if (this.phase === 'final' && this.state === 'compensating') return
        // The one case in which the first reason does not stay: the finals are not opened a second time.
        if (this.phase === 'final') this.reason = 'cancel'
        if (this.phase === 'forward' || this.phase === 'final') this.drain('cancel', { code: 'cancelled', node: null })
        return
      case 'roll-back':
        if (!this.#started && this.phase === 'forward') return this.#end('cancelled', 'cancelled')
        if (this.phase === 'forward') this.drain('compensate', { code: 'cancelled', node: null })
        return
      case 'deadline':
        if (this.state === 'idle') return
        if (!this.#started && this.phase === 'forward') {
          this.keepError(TIMED_OUT)
          return this.#end('failed', 'timed_out')
        }
        if (this.phase === 'forward') this.drain('deadline', TIMED_OUT)
        else if (this.phase === 'undo') this.#end('failed', 'rolled_back_partial')
        return
      case 'engine_error':
        if (this.phase === 'forward' && this.state !== 'idle')
          this.drain('engine_error', { code: happening.error!.code, node: null })
    }
  }

  // ---- when work ends -----------------------------------------------------------------------------------------

  #ended(piece: Piece, outcome: Outcome['kind'], error: Failure | null): void {
    piece.state = outcome
    piece.endedAt = ++this.#ends
    const cause = { code: outcome === 'cancelled' ? 'cancelled' : (error?.code ?? ''), node: piece.node.key }
    if (piece.about !== null) return this.#decided(piece.about, outcome === 'succeeded', cause)
    this.justEnded = piece
    this.seen.add(`${piece.role} ${piece.kind} ${outcome}`)
    this.seen.add(`outcome ${outcome} in ${this.phase}`)
    if (outcome === 'unknown') {
      this.seen.add(`unknown ${this.net.unknown}`)
      if (piece.node.unknown !== undefined) this.seen.add(`unknown node ${piece.node.unknown}`)
    }
    const bad = outcome !== 'succeeded'
    if (this.phase === 'undo') {
      if (bad) this.#end('failed', 'rolled_back_partial')
      return
    }
    if (this.phase === 'final') return this.#finalEnded(bad, cause)
    this.#doubt(piece, outcome)
    if (this.phase === 'drain') {
      if (outcome === 'cancelled') piece.state = 'withdrawn'
      else if (bad && piece.role === 'work' && piece.scope === null) this.noteFailure(cause, false)
      if (piece.role === 'work' && this.#tookEffect(piece, outcome)) this.#listForUndo(piece)
      return
    }
    if (outcome === 'failed' && error?.category === 'governance' && piece.node.appeal !== undefined) {
      return this.#appeal(piece)
    }
    if (this.#doneOnceMore(piece, outcome, error)) return
    if (bad) this.#countFailure(cause)
    if (this.#tookEffect(piece, outcome)) this.#listForUndo(piece)
    if (outcome === 'unknown' && this.#policy(piece) === 'stop') return this.drain('stop', cause)
    if (piece.scope !== null) {
      const item = piece.scope.items[piece.item]!
      item.state = 'done'
      item.failed = bad
      this.issue(piece.scope)
      return
    }
    if (bad) this.nodeFailed(piece.token!, cause)
    else this.route(piece.token!, 'succeeded')
  }

  /** Where any failure fails the instance, the first is the reason. */
  #countFailure(cause: Cause): void {
    if (this.net.verdict.failedOn === 'any' && this.failed() === 1) this.keepError(cause)
  }

  #finalEnded(bad: boolean, cause: Cause): void {
    if (bad && this.account.error === null) this.keepError(cause)
  }

  #appeal(piece: Piece): void {
    this.seen.add(this.pieces.some((other) => other.about === piece) ? 'appeal again' : 'appeal opened')
    piece.state = 'appealed'
    const { token } = piece
    const firing = { node: piece.node, nth: null }
    const place = { firing, item: -1, role: 'work', args: null, token, scope: null, final: null } as const
    this.openPiece(piece.node.appeal!, place, piece)
  }

  #decided(piece: Piece, approved: boolean, cause: Cause): void {
    this.seen.add(`appeal ${approved ? 'approved' : 'rejected'}`)
    piece.state = approved ? 'open' : 'failed'
    piece.started = false
    if (approved) return
    this.#countFailure(cause)
    this.nodeFailed(piece.token!, cause)
  }

  #doneOnceMore(piece: Piece, outcome: Outcome['kind'], error: Failure | null): boolean {
    if (this.net.onFailure !== 'retry' || piece.node.onFailure !== 'net') return false
    if (outcome !== 'failed' && (outcome !== 'unknown' || this.#policy(piece) !== 'ignore')) return false
    if (piece.scope !== null && piece.kind === 'child') return false
    const final = ['timeout', 'validation', 'governance', 'cancelled']
    if (error!.retryable === false || final.includes(error!.category ?? '') || final.includes(error!.code)) {
      this.seen.add('rerun refused')
      return false
    }
    this.seen.add(piece.second ? 'rerun spent' : `rerun ${piece.scope === null ? piece.kind : 'item'}`)
    if (piece.second) return false
    if (piece.kind === 'run') {
      piece.state = 'open'
      piece.started = false
      piece.second = true
      return true
    }
    // If it cannot be fired again, it has failed.
    this.fireAnew(piece.token!)
    piece.state = 'replaced'
    return true
  }

  #policy(piece: Piece): Net['unknown'] {
    return piece.node.unknown ?? this.net.unknown
  }

  #tookEffect(piece: Piece, outcome: Outcome['kind']): boolean {
    return outcome === 'succeeded' || (outcome === 'unknown' && this.#policy(piece) === 'undo')
  }

  #listForUndo(piece: Piece): void {
    if (piece.node.undo !== null) this.undoList.push(piece)
  }

  /** It may have taken effect: a rollback must not claim to be complete. */
  #doubt(piece: Piece, outcome: Outcome['kind']): void {
    if (outcome === 'unknown' && this.#policy(piece) === 'stop' && undoesInPlace(this.net)) this.#doubts.add(piece)
  }

  #late(piece: Piece, result: Json): void {
    const known = this.undoList.includes(piece) || this.undone.includes(piece)
    this.seen.add(`late in ${this.phase}`)
    if (this.#undoFollows()) this.#doubts.delete(piece)
    if (known) return
    this.#lateResults.set(piece, result)
    this.#listForUndo(piece)
  }

  // ---- drain, undo, final, verdict ----------------------------------------------------------------------------

  protected override takeBack(): void {
    this.account = this.#before.account
    this.pieces.splice(this.#before.pieces)
  }

  protected override drain(reason: DrainReason, cause: Cause): void {
    if (this.phase === 'forward') {
      this.keepError(cause)
      if (reason !== 'cancel') this.noteFailure(cause, false)
    }
    this.phase = 'drain'
    this.reason ??= reason
    this.seen.add(`reason ${reason}`)
    if (this.held() > 0) this.seen.add('drain with held tokens')
    this.queue = []
    for (const piece of this.pieces) {
      if (piece.state === 'appealed') {
        piece.state = 'failed'
        this.seen.add('appeal dropped')
      }
      if (piece.state !== 'open') continue
      if (piece.kind === 'gate' || (piece.kind === 'run' && !piece.started)) piece.state = 'withdrawn'
    }
    if (this.reason === 'cancel') this.state = 'cancelling'
    else this.state = this.#undoFollows() ? 'compensating' : 'running'
  }

  #undoFollows(): boolean {
    return this.reason === 'compensate' || (this.reason === 'deadline' && this.net.onFailure === 'compensate')
  }

  #advance(): void {
    if (this.phase === 'forward' && this.#started && this.queue.length === 0 && this.live() === 0) this.#enterFinal()
    if (this.phase === 'drain' && this.open().length === 0) {
      if (this.reason === 'cancel') this.#end('cancelled', 'cancelled')
      else if (this.#undoFollows()) this.phase = 'undo'
      else this.#enterFinal()
    }
    if (this.phase === 'undo' && this.open().length === 0) {
      const next = this.undoList.pop()
      if (next !== undefined) this.#undo(next)
      else if (this.#doubts.size === 0) this.#enterFinal()
      else {
        this.seen.add('undo with a doubt')
        this.#end('failed', 'rolled_back_partial')
      }
    }
    if (this.phase === 'final' && this.open().length === 0) this.#verdict()
  }

  #undo(done: Piece): void {
    const { firing, item } = done
    const { work } = done.node.undo!
    let args: Json | null
    try {
      const late = this.#lateResults.get(done)
      const around = late === undefined ? {} : { late: { node: done.node, result: late } }
      args = renderTemplate(work.args, this.names({ args: null, ...around }))
    } catch {
      this.seen.add('undo of unrenderable arguments')
      return this.#end('failed', 'rolled_back_partial')
    }
    this.undone.push(done)
    if (this.undone.length > 1) this.seen.add('undo of several')
    this.openPiece(work, { firing, item, role: 'undo', args, token: null, scope: null, final: null })
  }

  #enterFinal(): void {
    this.phase = 'final'
    this.state = this.#undoFollows() ? 'compensating' : 'running'
    const { failedOn } = this.net.verdict
    const bad = this.reason !== null || this.account.unhandled > 0 || (failedOn === 'any' && this.failed() > 0)
    const summary = this.net.summary === true ? this.#summary(bad) : null
    for (const final of this.net.finals) {
      if (final.when !== 'always' && (final.when === 'failure') !== bad) continue
      const node = this.node(final.node)
      this.seen.add(`final ${final.when}`)
      this.seen.add(`final ${node.work.kind}`)
      if (node.work.kind === 'pass') continue
      const firing = { node, nth: null }
      if (summary !== null) this.seen.add('final summary')
      const template = templateOf(node.work)
      const args = template === null ? summary : renderTemplate(template, this.names({ args: summary }))
      this.openPiece(node.work, { firing, item: -1, role: 'final', args, token: null, scope: null, final })
    }
  }

  #summary(bad: boolean): Json {
    const rows = this.works().filter((piece) => piece.kind !== 'gate')
    const done = rows.filter((piece) => piece.state === 'succeeded').map((piece) => piece.node.key)
    const reference = (key: string): Json => ({
      kind: 'result_ref',
      ref: `petrel://instances/${INSTANCE}/results/${key}`,
    })
    const { steps, branches, failures } = this.account
    return {
      execution_id: INSTANCE,
      status_so_far: bad ? 'failed' : 'success',
      counts: { steps, runs: rows.filter((piece) => piece.kind === 'run').length, branches, failed: this.failed() },
      results: Object.fromEntries([...new Set(done)].sort().map((key) => [key, reference(key)])),
      failures: failures.map((failure) => ({ ...failure })),
    }
  }

  #verdict(): void {
    const notDone = ['failed', 'unknown', 'cancelled']
    const failedFinals = this.pieces.filter((piece) => piece.role === 'final' && notDone.includes(piece.state))
    for (const piece of failedFinals) this.seen.add(`final failed ${piece.final!.onFailure}`)
    const finalFailed = failedFinals.some((piece) => piece.final!.onFailure === 'fail')
    if (this.#undoFollows()) return this.#end(finalFailed ? 'failed' : 'compensated', 'rolled_back')
    const { failedOn, partial } = this.net.verdict
    const byKind =
      failedOn === 'any' ? this.failed() > 0 : failedOn === 'unhandled' ? this.account.unhandled > 0 : false
    const bad = this.reason !== null || byKind || finalFailed
    if (byKind) this.seen.add(`verdict failed on ${failedOn}`)
    if (bad && partial && this.reason === null && this.succeeded() > 0) return this.#end('completed', 'partial')
    if (bad) return this.#end('failed', this.reason === 'deadline' ? 'timed_out' : 'failed')
    this.#end('completed', failedFinals.length > 0 ? 'partial' : 'success')
  }

  #end(state: InstanceState, outcome: InstanceOutcome): void {
    for (const piece of this.open()) piece.state = 'abandoned'
    this.seen.add(`verdict ${state} ${outcome}`)
    this.phase = 'ended'
    this.state = state
    this.outcome = outcome
  }
}
