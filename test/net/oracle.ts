/**
 * The oracle: docs/net.md read a second time, slowly and without cleverness. It has no slots, no bounds, no missing facts.
 * The forward phase is in flow.ts; here are the happenings and what comes after the forward phase.
 */
import type { DrainReason, Failure, InstanceOutcome, InstanceState, Outcome } from '../../src/net/marking.ts'
import type { Json } from '../../src/net/net.ts'
import { renderTemplate } from './expression.ts'
import { Flow, type Piece, Stop, templateOf } from './flow.ts'

export interface OracleHappening {
  readonly kind: 'queue' | 'start' | 'ended' | 'late' | 'patched' | 'cancel' | 'deadline' | 'engine_error'
  readonly piece?: Piece
  readonly outcome?: Outcome['kind']
  /** Of a failed or unknown outcome. */
  readonly error?: Failure
  readonly set?: { readonly [name: string]: Json }
}

export class Oracle extends Flow {
  state: InstanceState = 'queued'
  outcome: InstanceOutcome | null = null
  reason: DrainReason | null = null
  readonly undoList: Piece[] = []
  /** Places in the order their undo began. */
  readonly undone: Piece[] = []

  #started = false
  /** How things stood before the happening being handled. */
  #before = { pieces: 0, detached: 0, unhandled: 0, context: this.context }

  // ---- what happens to it -------------------------------------------------------------------------------------

  happen(happening: OracleHappening): void {
    if (this.phase === 'ended') return
    const { pieces, detached, unhandled, context } = this
    this.#before = { pieces: pieces.length, detached: detached.length, unhandled, context }
    const { phase } = this
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
        return this.#late(happening.piece!)
      case 'patched':
        // In every phase: undos and finals read the context as well.
        return this.write(happening.set!)
      case 'cancel':
        if (!this.#started && this.phase === 'forward') return this.#end('cancelled', 'cancelled')
        // What undid its work is not abandoned half way through its finals.
        if (this.phase === 'final' && this.state === 'compensating') return
        // The one case in which the first reason does not stay: the finals are not opened a second time.
        if (this.phase === 'final') this.reason = 'cancel'
        if (this.phase === 'forward' || this.phase === 'final') this.drain('cancel')
        return
      case 'deadline':
        if (this.state === 'idle') return
        if (!this.#started && this.phase === 'forward') return this.#end('failed', 'timed_out')
        if (this.phase === 'forward') this.drain('deadline')
        else if (this.phase === 'undo') this.#end('failed', 'rolled_back_partial')
        return
      case 'engine_error':
        if (this.phase === 'forward' && this.state !== 'idle') this.drain('engine_error')
    }
  }

  // ---- when work ends -----------------------------------------------------------------------------------------

  #ended(piece: Piece, outcome: Outcome['kind'], error: Failure | null): void {
    piece.state = outcome
    if (piece.about !== null) return this.#decided(piece.about, outcome === 'succeeded')
    this.seen.add(`${piece.role} ${piece.kind} ${outcome}`)
    this.seen.add(`outcome ${outcome} in ${this.phase}`)
    if (outcome === 'unknown') this.seen.add(`unknown ${this.net.unknown}`)
    const bad = outcome !== 'succeeded'
    if (this.phase === 'undo') {
      if (bad) this.#end('failed', 'rolled_back_partial')
      return
    }
    if (this.phase === 'final') return
    if (this.phase === 'drain') {
      if (outcome === 'cancelled') piece.state = 'withdrawn'
      if (piece.role === 'work' && this.#tookEffect(outcome)) this.#listForUndo(piece)
      return
    }
    if (outcome === 'failed' && error?.category === 'governance' && piece.node.appeal !== undefined) {
      return this.#appeal(piece)
    }
    if (this.#doneOnceMore(piece, outcome, error)) return
    if (this.#tookEffect(outcome)) this.#listForUndo(piece)
    if (outcome === 'unknown' && this.net.unknown === 'stop') return this.drain('stop')
    if (piece.scope !== null) {
      const item = piece.scope.items[piece.item]!
      item.state = 'done'
      item.failed = bad
      this.issue(piece.scope)
      return
    }
    if (bad) this.nodeFailed(piece.token!)
    else this.route(piece.token!, 'succeeded')
  }

  #appeal(piece: Piece): void {
    this.seen.add(this.pieces.some((other) => other.about === piece) ? 'appeal again' : 'appeal opened')
    piece.state = 'appealed'
    const { token } = piece
    const firing = { node: piece.node, nth: null }
    const place = { firing, item: -1, role: 'work', args: null, token, scope: null, final: null } as const
    this.openPiece(piece.node.appeal!, place, piece)
  }

  #decided(piece: Piece, approved: boolean): void {
    this.seen.add(`appeal ${approved ? 'approved' : 'rejected'}`)
    piece.state = approved ? 'open' : 'failed'
    piece.started = false
    if (!approved) this.nodeFailed(piece.token!)
  }

  #doneOnceMore(piece: Piece, outcome: Outcome['kind'], error: Failure | null): boolean {
    if (this.net.onFailure !== 'retry' || piece.node.onFailure !== 'net') return false
    if (outcome !== 'failed' && (outcome !== 'unknown' || this.net.unknown !== 'ignore')) return false
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
    // Should it not be possible to fire it anew, it has failed.
    this.fireAnew(piece.token!)
    piece.state = 'replaced'
    return true
  }

  #tookEffect(outcome: Outcome['kind']): boolean {
    return outcome === 'succeeded' || (outcome === 'unknown' && this.net.unknown === 'undo')
  }

  #listForUndo(piece: Piece): void {
    if (piece.node.undo !== null) this.undoList.push(piece)
  }

  #late(piece: Piece): void {
    const known = this.undoList.includes(piece) || this.undone.includes(piece)
    this.seen.add(`late in ${this.phase}`)
    if (!known) this.#listForUndo(piece)
  }

  // ---- drain, undo, final, verdict ----------------------------------------------------------------------------

  protected override drain(reason: DrainReason): void {
    this.phase = 'drain'
    this.reason ??= reason
    this.seen.add(`reason ${reason}`)
    if (this.held() > 0) this.seen.add('drain with held tokens')
    this.queue = []
    // What this very happening set in motion is taken back: only the work that ended stays counted.
    this.unhandled = this.#before.unhandled
    this.detached.splice(this.#before.detached)
    this.context = this.#before.context
    for (const [i, piece] of this.pieces.entries()) {
      if (piece.state === 'appealed') {
        piece.state = 'failed'
        this.seen.add('appeal dropped')
      }
      if (piece.state !== 'open') continue
      const madeJustNow = i >= this.#before.pieces
      if (piece.kind === 'gate' || (piece.kind === 'run' && !piece.started) || madeJustNow) piece.state = 'withdrawn'
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
      if (next === undefined) this.#enterFinal()
      else {
        this.#undo(next)
      }
    }
    if (this.phase === 'final' && this.open().length === 0) this.#verdict()
  }

  #undo(done: Piece): void {
    const { firing, item } = done
    const { work } = done.node.undo!
    let args: Json | null
    try {
      args = renderTemplate(work.args, this.names(null, null))
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
    const bad = this.reason !== null || this.unhandled > 0 || (failedOn === 'any' && this.failed() > 0)
    for (const final of this.net.finals) {
      if (final.when !== 'always' && (final.when === 'failure') !== bad) continue
      const node = this.node(final.node)
      this.seen.add(`final ${final.when}`)
      this.seen.add(`final ${node.work.kind}`)
      if (node.work.kind === 'pass') continue
      const firing = { node, nth: null }
      const args = renderTemplate(templateOf(node.work), this.names(null, null))
      this.openPiece(node.work, { firing, item: -1, role: 'final', args, token: null, scope: null, final })
    }
  }

  #verdict(): void {
    const notDone = ['failed', 'unknown', 'cancelled']
    const failedFinals = this.pieces.filter((piece) => piece.role === 'final' && notDone.includes(piece.state))
    for (const piece of failedFinals) this.seen.add(`final failed ${piece.final!.onFailure}`)
    const finalFailed = failedFinals.some((piece) => piece.final!.onFailure === 'fail')
    if (this.#undoFollows()) return this.#end(finalFailed ? 'failed' : 'compensated', 'rolled_back')
    const { failedOn, partial } = this.net.verdict
    const byKind = failedOn === 'any' ? this.failed() > 0 : failedOn === 'unhandled' ? this.unhandled > 0 : false
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
