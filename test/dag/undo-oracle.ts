/**
 * The required behaviour of a DAG workflow, computed from its file and from what its workers saw: the work they were
 * given, the reports that were accepted, the decisions at gates. It shares nothing with src/net.
 *
 *   forward steps whose dependencies have ended may begin; a failure that is not skipped, a deadline or a cancel ends
 *   it
 *   drain    nothing begins, nested workflows are rolled back or cancelled like their parent; held work may end
 *   undo     after `compensate` only: completed steps with a compensation, the last completed first, one at a time
 *   ended    nothing changes any more
 */
import { type FlowCase, INNER, type StepCase } from './undo-case.ts'

export class LawBroken extends Error {}

export class Flow {
  /** The instance, once it has been seen. */
  id: string | null = null
  phase: 'forward' | 'drain' | 'undo' | 'ended' = 'forward'
  /** How it must have ended. */
  end: 'completed' | 'failed' | 'cancelled' | 'compensated' | null = null
  /** Why it left forward: the first reason stays. */
  reason: 'abort' | 'compensate' | 'cancel' | null = null
  readonly nested = new Map<string, Flow>()
  /** Completed, in this order; late ones when they became known. Undone steps are removed. */
  readonly completed: string[] = []
  undoing: string | null = null
  /** Undos begun, in order. */
  readonly undone: string[] = []
  /** The kinds of events seen; many trials together must have seen all. */
  readonly seen = new Set<string>()
  readonly #case: FlowCase
  readonly #steps: ReadonlyMap<string, StepCase>
  readonly #over = new Map<string, 'completed' | 'skipped' | 'failed'>()
  readonly #held = new Set<string>()
  #stuck = false
  readonly #ended: () => void

  constructor(flow: FlowCase, ended: () => void = () => {}) {
    this.#case = flow
    this.#steps = new Map(flow.steps.map((step) => [step.name, step]))
    this.#ended = ended
    this.#goOn()
  }

  /** This flow and those nested in it. */
  *all(): Iterable<Flow> {
    yield this
    for (const inner of this.nested.values()) yield* inner.all()
  }

  step(name: string): StepCase {
    return this.#steps.get(name) as StepCase
  }

  /** Steps that wait for a worker, and gates that wait for an answer. */
  ready(kind: 'run' | 'gate'): string[] {
    if (this.phase !== 'forward') return []
    return [...this.#steps.values()]
      .filter((s) => s.kind === kind && !this.#over.has(s.name) && !this.#held.has(s.name) && this.#reached(s))
      .map((s) => s.name)
  }

  /** It has no dependents, and its failure begins a rollback. */
  isLast(name: string): boolean {
    const follows = this.step(name).onFailure ?? this.#case.failurePolicy
    return follows === 'compensate' && ![...this.#steps.values()].some((s) => s.dependsOn.includes(name))
  }

  taken(name: string): void {
    if (!this.ready('run').includes(name)) throw new LawBroken(`step ${name} was handed out in ${this.phase}`)
    this.#held.add(name)
  }

  /** It will be retried, or it was returned unstarted. */
  back(name: string): void {
    this.#held.delete(name)
    this.#goOn()
  }

  ended(name: string, succeeded: boolean): void {
    this.#held.delete(name)
    const step = this.step(name)
    this.seen.add(`${succeeded ? 'success' : 'failure'} in ${this.phase}`)
    if (succeeded) {
      this.#over.set(name, 'completed')
      if (step.undo) this.completed.push(name)
    } else {
      const follows = step.onFailure ?? this.#case.failurePolicy ?? 'abort'
      this.#over.set(name, follows === 'skip' && this.phase === 'forward' ? 'skipped' : 'failed')
      if (follows === 'skip') this.seen.add('skip')
      else this.#leave(follows)
    }
    this.#goOn()
  }

  /** A success reported after the step had been given up: its effects exist, so they are undone. */
  endedLate(name: string): void {
    this.seen.add(`late success in ${this.phase}`)
    if (this.phase !== 'ended' && this.step(name).undo) this.completed.push(name)
  }

  deadline(): void {
    this.seen.add(`deadline in ${this.phase}`)
    this.#leave(this.#case.failurePolicy === 'compensate' ? 'compensate' : 'abort')
    this.#goOn()
  }

  cancel(): void {
    this.#leave('cancel')
    this.#goOn()
  }

  /** Its parent begins a rollback. */
  turnBack(reason: 'abort' | 'compensate' | 'cancel'): void {
    if (reason === 'compensate') this.seen.add(`rolled back with its parent in ${this.phase}`)
    this.#leave(reason === 'compensate' ? 'compensate' : 'cancel')
    this.#goOn()
  }

  undoEnded(succeeded: boolean): void {
    if (this.undoing === null) throw new LawBroken('an unexpected undo ended')
    this.undoing = null
    if (succeeded) this.#goOn()
    else this.#finish('failed')
  }

  #reached(step: StepCase): boolean {
    return step.dependsOn.every((d) => this.#over.get(d) === 'completed' || this.#over.get(d) === 'skipped')
  }

  #leave(reason: 'abort' | 'compensate' | 'cancel'): void {
    if (this.phase !== 'forward') return
    this.seen.add(`reason ${reason}`)
    this.phase = 'drain'
    this.reason = reason
    for (const inner of this.nested.values()) inner.turnBack(reason)
  }

  #goOn(): void {
    if (this.phase === 'forward') this.#openNested()
    if (this.phase === 'forward' && this.#over.size === this.#steps.size) return this.#finish('completed')
    if (this.phase === 'drain') this.#leaveDrain()
    if (this.phase !== 'undo' || this.undoing !== null) return
    const last = this.completed.pop()
    if (last === undefined) return this.#finish('compensated')
    this.undoing = last
    this.undone.push(last)
    if (this.undone.length > 1) this.seen.add('undo of several')
  }

  #openNested(): void {
    for (const step of this.#steps.values()) {
      if (step.kind !== 'nested' || this.nested.has(step.name) || !this.#reached(step)) continue
      const inner: Flow = new Flow(INNER, () => this.#innerEnded(step.name, inner))
      this.nested.set(step.name, inner)
      this.seen.add('nested')
    }
  }

  #innerEnded(name: string, inner: Flow): void {
    // While draining it only makes room: a cancelled inner workflow does not count as a failed step. One that had
    // completed is undone by its step's compensation; one that could not undo its work ends the rollback.
    if (this.phase === 'forward') return this.ended(name, inner.end === 'completed')
    if (inner.end === 'failed' && inner.reason === 'compensate') this.#stuck = true
    this.#goOn()
  }

  #leaveDrain(): void {
    if (this.#held.size > 0 || [...this.nested.values()].some((inner) => inner.end === null)) return
    if (this.reason === 'compensate' && this.#stuck) this.#finish('failed')
    else if (this.reason === 'compensate') this.phase = 'undo'
    else this.#finish(this.reason === 'cancel' ? 'cancelled' : 'failed')
  }

  #finish(end: NonNullable<Flow['end']>): void {
    this.phase = 'ended'
    this.end = end
    this.seen.add(`end ${end}`)
    this.#ended()
  }
}
