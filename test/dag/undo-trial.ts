/**
 * One trial: a DAG workflow on a real store, executed by hand as a script of numbers determines, with failures,
 * timeouts, lost sessions, processes that die and late successes. The oracle receives what the workers see; after every
 * turn the rows must agree with it. When the script is used up, everything open succeeds until the instance has ended.
 */
import { DIED, type HandWorker, type Implementation, SESSION_TTL_MS, SimulatedProcess } from './simulated-process.ts'
import { type DagCase, STEP_TIMEOUT_MS, textOf, WORKFLOW_TIMEOUT_MS } from './undo-case.ts'
import { Flow, LawBroken } from './undo-oracle.ts'
import { Witness } from './undo-witness.ts'
import { type Held, nameOf, resultOf, TrialWorker } from './undo-worker.ts'

const SOON_MS = 2_000
const FINISH_TURNS = 400

/** The current time, for all trials on one store: its clock never goes back. */
export interface Clock {
  offsetMs: number
}

export class Trial {
  readonly flow: Flow
  readonly seen = new Set<string>()
  readonly #dag: DagCase
  readonly #from: Implementation
  readonly #url: string
  readonly #clock: Clock
  readonly #prefix: string
  readonly #worker: HandWorker
  readonly #witness: Witness
  readonly #hands: TrialWorker
  #process = undefined as unknown as SimulatedProcess
  #startedAtMs = 0

  constructor(p: { from: Implementation; url: string; clock: Clock; dag: DagCase; prefix: string }) {
    this.#dag = p.dag
    this.#from = p.from
    this.#url = p.url
    this.#clock = p.clock
    this.#prefix = p.prefix
    this.flow = new Flow(p.dag)
    this.#witness = new Witness(this.flow, () => this.#process.engine)
    const process = (): SimulatedProcess => this.#process
    this.#hands = new TrialWorker({ root: this.flow, witness: this.#witness, process, seen: this.seen })
    const holding = (): string[] => this.#hands.held.map(({ delivery }) => delivery.runId)
    this.#worker = { types: [`${p.prefix}.work`, `${p.prefix}.undo`], holding }
  }

  /** A log for the reader of a failing case. */
  get log(): readonly string[] {
    return this.#hands.log
  }

  async play(script: readonly number[]): Promise<void> {
    await this.#begin()
    try {
      await this.#play(script)
    } finally {
      await this.#process.close()
    }
  }

  async #begin(): Promise<void> {
    this.#process = await SimulatedProcess.open(this.#from, this.#url, this.#worker)
  }

  async #play(script: readonly number[]): Promise<void> {
    const { start } = await this.#from.readDefinition('undo.json', textOf(this.#dag, this.#prefix))
    const [started] = await this.#process.engine.start([{ ...start, input: { of: this.#prefix } }])
    this.flow.id = (started as { id: string }).id
    this.#startedAtMs = this.#clock.offsetMs
    await this.#witness.compare()
    const half = script.length >> 1
    await this.#follow(script.slice(0, half))
    if (this.#dag.breaks) await this.#workUntil(() => this.flow.phase !== 'forward', 'failed')
    await this.#follow(script.slice(half))
    await this.#workUntil(() => this.flow.phase === 'ended', 'succeeded')
    await this.#hands.lastWords()
    await this.#witness.compare()
    await this.#witness.endedOnce()
    for (const flow of this.flow.all()) for (const what of flow.seen) this.seen.add(what)
  }

  async #turn(choice: number, which: number): Promise<void> {
    const held = this.#hands.held[which % Math.max(1, this.#hands.held.length)]
    if (this.#hands.ghosts.length > 0 && which % 3 === 0) return this.#hands.late(which)
    if (choice < 70 || (held === undefined && choice < 182)) return this.#hands.claim(1 + (which % 3), choice % 8 !== 7)
    if (choice < 138) return this.#hands.end(held as Held, 'succeeded', which % 4 === 0)
    if (choice < 160)
      return this.#hands.end(
        held as Held,
        (held as Held).delivery.role === 'undo' && which % 3 > 0 ? 'succeeded' : 'failed',
        which % 4 === 0,
      )
    if (choice < 168) return this.#hands.end(held as Held, 'transient', false)
    if (choice < 182) return this.#hands.endTwo(which)
    if (choice < 194) return this.#answerGate(which)
    if (choice < 204) return this.#pass(STEP_TIMEOUT_MS + 60_000)
    if (choice < 214) return this.#loseSession()
    if (choice < 230) return this.#hands.late(which)
    if (choice < 236) return this.#crash()
    if (choice < 246) return this.#crashAtCommit(held, which)
    if (choice < 251 && this.#dag.timed) return this.#pass(WORKFLOW_TIMEOUT_MS)
    if (choice === 255) return this.#cancel()
    return this.#pass(SOON_MS)
  }

  async #follow(script: readonly number[]): Promise<void> {
    for (const number of script) {
      if (this.flow.phase === 'ended') return
      await this.#turn(number & 255, number >> 8)
      await this.#witness.compare()
    }
  }

  /** Everything succeeds, or, where that leads to a rollback, the last steps fail. */
  async #workUntil(done: () => boolean, last: 'succeeded' | 'failed'): Promise<void> {
    for (let turns = 0; !done(); turns++) {
      if (turns > FINISH_TURNS) throw new LawBroken(`does not end: ${this.flow.phase}`)
      await this.#finishTurn(last)
      await this.#witness.compare()
    }
  }

  async #finishTurn(last: 'succeeded' | 'failed'): Promise<void> {
    const [held] = this.#hands.held
    if (held !== undefined) {
      const { flow, delivery } = held
      const breaks = delivery.role === 'work' && flow === this.flow && flow.isLast(delivery.node as string)
      return this.#hands.end(held, breaks ? last : 'succeeded', false)
    }
    await this.#hands.claim(10, true)
    if (this.#hands.held.length > 0) return
    if ([...this.flow.all()].some((flow) => flow.ready('gate').length > 0)) return this.#answerGate(0)
    await this.#pass(SOON_MS)
  }

  // ── actions
  // ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #answerGate(which: number): Promise<void> {
    const flow = this.flow
    const [node] = flow.ready('gate')
    if (node === undefined) return this.#hands.claim(1, true)
    const gates = await this.#process.engine.queries.openGates({ instanceId: flow.id as string, limit: 100 })
    const gate = gates.find((g) => g.node === node)
    if (gate === undefined) throw new LawBroken(`gate ${node} is not open`)
    const approved = which % 4 > 0 || which === 0
    this.#hands.log.push(`${approved ? 'approved' : 'rejected'} ${node}`)
    await this.#process.engine.answerGate({ gateId: gate.id, approved, answer: { by: node }, actor: 'ann' })
    flow.ended(node, approved)
  }

  async #cancel(): Promise<void> {
    const { phase, reason, id } = this.flow
    const refused = phase !== 'forward' && reason === 'compensate'
    this.#hands.log.push('cancel')
    const answer = await this.#process.engine.cancelInstance({ id: id as string, actor: 'ann' }).then(
      () => 'taken',
      (error: { code?: string }) => error.code,
    )
    if (answer !== (refused ? 'conflict' : 'taken')) throw new LawBroken(`a cancel in ${phase} was answered ${answer}`)
    this.flow.cancel()
  }

  // ── consequences
  // ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #pass(ms: number): Promise<void> {
    // The order in which two instances are swept cannot be determined afterwards.
    if (ms > SOON_MS && this.#mixed()) return
    this.#hands.log.push(`${ms / 1000} s pass`)
    this.#clock.offsetMs += ms
    await this.#process.pass(this.#clock.offsetMs)
    await this.#reconcile()
    const over = this.#clock.offsetMs - this.#startedAtMs >= WORKFLOW_TIMEOUT_MS
    if (this.#dag.timed && over && this.flow.phase === 'forward') this.flow.deadline()
  }

  async #loseSession(): Promise<void> {
    if (this.#mixed()) return
    this.#hands.log.push('the session is lost')
    this.seen.add('session lost')
    await this.#process.session.close()
    await this.#process.openSession()
    await this.#process.engine.sweep()
    await this.#reconcile()
  }

  /** The process is gone; another one runs when its session has expired. */
  async #crash(): Promise<void> {
    if (this.#mixed()) return
    this.#hands.log.push('the process dies')
    this.seen.add(`crash in ${this.flow.phase}`)
    await this.#process.die()
    await this.#begin()
    await this.#pass(SESSION_TTL_MS + 1_000)
  }

  async #crashAtCommit(held: Held | undefined, which: number): Promise<void> {
    if (held === undefined || this.#mixed()) return this.#crash()
    const point = which % 2 === 0 ? 'before-commit' : 'after-commit'
    const outcome = (which >> 1) % 3 === 0 && held.delivery.role === 'work' ? 'failed' : 'succeeded'
    const { delivery } = held
    this.#hands.log.push(`dies at ${point} of ${outcome} ${nameOf(delivery)}`)
    this.#process.dieAt(point)
    const wantNext = (which >> 2) % 2 === 0
    const reply = await this.#process.report({ delivery, outcome, result: resultOf(delivery), wantNext })
    if (reply !== DIED) throw new Error(`nothing was committed for ${nameOf(delivery)}: ${JSON.stringify(reply)}`)
    this.seen.add(`crash ${point} in ${this.flow.phase}`)
    const dead = this.#process
    await dead.die()
    await this.#begin()
    if (point === 'after-commit') await this.#hands.recorded([{ held, outcome }])
    await this.#witness.compare()
    await this.#pass(SESSION_TTL_MS + 1_000)
  }

  /** Work of the workflow and of a nested one, held by the same worker. */
  #mixed(): boolean {
    return new Set(this.#hands.held.map((h) => h.flow)).size > 1
  }

  /** Not reported, but ended by time or a loss: the rows show what was given up, in which order. */
  async #reconcile(): Promise<void> {
    for (const flow of [...this.flow.all()].reverse()) {
      if (flow.id === null) continue
      const rows = await this.#witness.rows(flow)
      const givenUp = rows.filter((r) => r.status === 'failed' && !this.#hands.known.has(r.id))
      for (const row of givenUp.sort((a, b) => (a.doneSeq ?? 0) - (b.doneSeq ?? 0))) {
        this.#hands.known.add(row.id)
        this.#hands.release(row, true)
        this.seen.add(`given up in ${flow.phase}: ${JSON.parse(row.error ?? '{}').code}`)
        if (row.role === 'undo') flow.undoEnded(false)
        else flow.ended(row.node as string, false)
      }
      for (const row of rows)
        if (row.status === 'pending' || row.status === 'cancelled') this.#hands.release(row, false)
    }
  }
}
