/**
 * A dry run: in memory, with stand-ins for the types without a handler, on a clock that skips every wait.
 *
 *   active   a handler runs, an outcome is being recorded, something is claimable or overdue: look again soon
 *   idle     otherwise. Executions whose sleep is over wake; due gates are answered; if there are neither, the clock
 *            jumps to the next due time; if there is none, the instance waits for something external
 *   ended    the instance has its verdict
 */

import type { EngineApi } from '../../engine/api.ts'
import type { Engine } from '../../engine/engine.ts'
import type { GateRow, InstanceRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { Definition } from '../../notations/source/definition.ts'
import { Handlers } from '../../worker/handlers.ts'
import { SkippedClock } from './clock.ts'
import { pause } from './follow.ts'
import type { Outcomes } from './outcomes.ts'
import { Services } from './services.ts'
import { StandIns } from './stand-ins.ts'
import { Tracer, type TraceStep } from './trace.ts'

/** Stand-ins only sleep; a slot for each costs nothing. */
const CONCURRENCY = 10_000
const LOOK_MS = 2
/** An overdue row that no sweep takes up must not stop the dry run forever. */
const OVERDUE_LOOKS = 500
const PORTION = 1000

export interface DryRun {
  readonly definition: Definition
  readonly input: Json | null
  readonly handlers: Handlers | null
  readonly outcomes: Outcomes
  readonly signal: AbortSignal
  onStep(step: TraceStep): void
}

export interface DryRunEnd {
  readonly engine: EngineApi
  readonly id: string
  readonly trace: readonly TraceStep[]
  close(): Promise<void>
}

export async function dryRun(params: DryRun): Promise<DryRunEnd> {
  const { openEngine } = await import('../../client/open.ts')
  const { Worker } = await import('../../worker/worker.ts')
  // A session must outlive any jump; with half of the jitter's range the delay is exact.
  const engine = await openEngine('sqlite::memory:', {
    sessionTtlMs: 1e12,
    pollMs: 5,
    heartbeatMs: 50,
    random: () => 0.5,
  })
  const clock = new SkippedClock(engine.simulation)
  const standIns = new StandIns(params.definition, params.outcomes, clock)
  const services = new Services(engine, params.outcomes, clock)
  const own = new Handlers()
  for (const [type, handler] of params.handlers?.entries() ?? []) own.add(type, handler)
  for (const [type, handler] of await services.handlers(params.definition.start.net)) own.add(type, handler)
  const handlers = standIns.handlers(own)
  const worker = await Worker.start(engine.workers, { handlers, concurrency: CONCURRENCY, pollMs: 5, maxPrefetch: 0 })
  const { definition, input } = params
  const [started] = await engine.start([{ ...definition.start, ...(input === null ? {} : { input }) }])
  const id = (started as { readonly id: string }).id
  const trace: TraceStep[] = []
  await new Pilot({ engine, clock, standIns, services, params, id, trace }).fly()
  return {
    engine,
    id,
    trace,
    close: async () => {
      services.close()
      await worker.stop({ graceMs: 0 })
      await engine.close()
    },
  }
}

interface Flight {
  readonly engine: Engine
  readonly clock: SkippedClock
  readonly standIns: StandIns
  readonly services: Services
  readonly params: DryRun
  readonly id: string
  readonly trace: TraceStep[]
}

class Pilot {
  readonly #flight: Flight
  #tracedUpTo = 0
  #overdueLooks = 0

  constructor(flight: Flight) {
    this.#flight = flight
  }

  async fly(): Promise<void> {
    const { engine, clock, services, params, id } = this.#flight
    const tracer = new Tracer(engine.queries, (await engine.queries.instance(id)) as InstanceRow)
    for (;;) {
      await this.#tell(tracer)
      const row = await engine.queries.instance(id)
      if (row === null || TERMINAL.has(row.state) || params.signal.aborted) break
      if ((await services.take()) || services.busy > 0 || !(await this.#isIdle())) await pause(LOOK_MS)
      else if (!(await clock.wakeDue()) && !(await this.#answerGates())) {
        const next = await this.#nextMoment()
        if (next === null) break
        await clock.jumpTo(next)
        await engine.simulation.sweep()
      }
    }
    await this.#tell(tracer)
  }

  async #isIdle(): Promise<boolean> {
    const { engine, clock, standIns } = this.#flight
    const { queries } = engine
    const { simulation } = engine
    if (standIns.running > clock.sleeping) return false
    const now = await clock.now()
    const dueAt = await simulation.nextDueAt()
    this.#overdueLooks = dueAt !== null && dueAt <= now ? this.#overdueLooks + 1 : 0
    if (this.#overdueLooks > 0 && this.#overdueLooks < OVERDUE_LOOKS) return false
    if (await simulation.isCutOff()) return false
    const query = { queue: null, type: null, deadLetter: null, tenant: null, limit: CONCURRENCY, before: null }
    const runs = await queries.listRuns({ ...query, status: ['pending', 'leased'] })
    if (clock.sleeping < CONCURRENCY && runs.some((r) => r.status === 'pending' && r.runAt <= now)) return false
    const held = runs.filter((r) => r.status === 'leased' && !r.deferred)
    if (!held.every((r) => clock.sleeps(`${r.id}/${r.attempt + 1}`))) return false
    // A timeout begins with the report of the start, which a worker only sends after some real time.
    const unrecorded = held.filter((r) => r.timeoutMs !== null && r.startedAt === null)
    if (unrecorded.length > 0) await simulation.noteStarts(unrecorded, now)
    return unrecorded.length === 0
  }

  /** true: a gate was answered. Each gate is answered once, when its time has come, in the order they opened. */
  async #answerGates(): Promise<boolean> {
    const { engine, clock, standIns } = this.#flight
    const now = await clock.now()
    let answered = false
    for (const gate of await this.#gates()) {
      const answer = standIns.gate(gate)
      if (answer.approved === null || gate.createdAt + answer.afterMs > now) continue
      await engine.answerGate({
        gateId: gate.id,
        approved: answer.approved,
        actor: 'dry run',
        force: true,
        ...(answer.answer === null ? {} : { answer: answer.answer }),
        ...(answer.reason === null ? {} : { reason: answer.reason }),
      })
      answered = true
    }
    return answered
  }

  async #gates(): Promise<readonly GateRow[]> {
    const gates = await this.#flight.engine.queries.openGates({ instanceId: null, limit: PORTION })
    return [...gates].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  async #nextMoment(): Promise<number | null> {
    const { engine, clock, standIns } = this.#flight
    const gates = (await this.#gates()).map((gate) => ({ gate, answer: standIns.gate(gate) }))
    const moments = [
      await engine.simulation.nextDueAt(),
      clock.nextWakeAt,
      ...gates.map(({ gate, answer }) => (answer.approved === null ? null : gate.createdAt + answer.afterMs)),
    ].filter((at): at is number => at !== null)
    return moments.length === 0 ? null : Math.min(...moments)
  }

  async #tell(tracer: Tracer): Promise<void> {
    const { engine, params, trace } = this.#flight
    for (;;) {
      const events = await engine.queries.feed({ afterId: this.#tracedUpTo, limit: PORTION })
      for (const step of await tracer.steps(events)) {
        trace.push(step)
        params.onStep(step)
      }
      this.#tracedUpTo = events.at(-1)?.id ?? this.#tracedUpTo
      if (events.length < PORTION) return
    }
  }
}
