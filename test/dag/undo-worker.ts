/**
 * The worker of a trial: takes work and reports on request, reports to the oracle what it sees, and remembers the work
 * that was taken from it, which it may still report.
 */
import type { RunRow } from '../../src/model/rows.ts'
import type { Delivery, Reply } from '../../src/worker/port.ts'
import { DIED, type SimulatedProcess } from './simulated-process.ts'
import { type Flow, LawBroken } from './undo-oracle.ts'
import type { Witness } from './undo-witness.ts'

/** A piece of work a worker holds, or held until it was taken from it. */
export interface Held {
  readonly delivery: Delivery
  readonly flow: Flow
  reportedLate: boolean
}

export class TrialWorker {
  held: Held[] = []
  /** It was taken from it. */
  readonly ghosts: Held[] = []
  /** Work whose end the oracle has seen. */
  readonly known = new Set<string>()
  readonly log: string[] = []
  readonly #root: Flow
  readonly #witness: Witness
  readonly #process: () => SimulatedProcess
  readonly #seen: Set<string>

  constructor(p: { root: Flow; witness: Witness; process: () => SimulatedProcess; seen: Set<string> }) {
    this.#root = p.root
    this.#witness = p.witness
    this.#process = p.process
    this.#seen = p.seen
  }

  async claim(limit: number, started: boolean): Promise<void> {
    const deliveries = await this.#process().session.claim(limit)
    if (deliveries.length === 0) return
    for (const delivery of deliveries) await this.take(delivery)
    this.log.push(`claimed ${deliveries.map(nameOf).join(', ')}${started ? '' : ' (start not reported)'}`)
    if (!started) return
    const now = Date.now()
    await this.#process().session.started(deliveries.map(({ runId, epoch }) => ({ runId, epoch, at: now })))
  }

  async take(delivery: Delivery): Promise<void> {
    const flow = await this.#witness.flowOf(delivery.instanceId as string)
    const node = delivery.node as string
    if (delivery.role === 'work') flow.taken(node)
    else this.#checkUndo(flow, delivery)
    this.held.push({ delivery, flow, reportedLate: false })
  }

  #checkUndo(flow: Flow, { node, payload, role }: Delivery): void {
    if (role !== 'undo' || flow.undoing !== node) {
      throw new LawBroken(`${role} of ${node} was handed out; the oracle expects the undo of ${flow.undoing}`)
    }
    const { step } = JSON.parse(payload) as { step: { name: string; result?: { by: string } } }
    if (step.name !== node) throw new LawBroken(`the undo of ${node} was asked to undo ${step.name}`)
    if (flow.step(node).kind === 'run' && step.result?.by !== node) {
      throw new LawBroken(`the undo of ${node} was given the result ${JSON.stringify(step.result)}`)
    }
  }

  async end(held: Held, outcome: 'succeeded' | 'failed' | 'transient', wantNext: boolean): Promise<void> {
    const reply = await this.#report(held, outcome, wantNext)
    if (reply.status !== 'recorded')
      throw new LawBroken(`${nameOf(held.delivery)} is held, but its report is ${reply.status}`)
    await this.recorded([{ held, outcome }])
    if (reply.next === null) return
    this.#seen.add(`hand-off of ${reply.next.role}`)
    this.log.push(`handed over ${nameOf(reply.next)}`)
    await this.take(reply.next)
  }

  /** Two reports at the same time are recorded in the order in which they were made. */
  async endTwo(which: number): Promise<void> {
    const [a, b] = this.held.filter((h) => h.delivery.role === 'work' && h.flow === this.#root)
    if (a === undefined || b === undefined) return this.claim(2, true)
    const outcomes = (
      [
        ['succeeded', 'succeeded'],
        ['succeeded', 'failed'],
        ['failed', 'failed'],
      ] as const
    )[which % 3]!
    const both = [a, b].map((held, i) => ({ held, outcome: outcomes[i] as 'succeeded' | 'failed' }))
    const replies = await Promise.all(both.map(({ held, outcome }) => this.#report(held, outcome, false)))
    if (replies.some((reply) => reply.status !== 'recorded')) throw new LawBroken('a report of held work was not taken')
    this.#seen.add('two at once')
    await this.recorded(both)
  }

  async late(which: number): Promise<void> {
    const ghost = this.ghosts[which % Math.max(1, this.ghosts.length)]
    if (ghost === undefined) return this.claim(1, true)
    const { delivery, flow } = ghost
    const row = (await this.#witness.rows(flow)).find((r) => r.id === delivery.runId) as RunRow
    const reply = await this.#report(ghost, 'succeeded', false)
    if (reply.status !== 'stale')
      throw new LawBroken(`${nameOf(delivery)} was taken from its worker, but its report is ${reply.status}`)
    // A repeated report has no further effect.
    if (ghost.reportedLate || delivery.role !== 'work' || !givenUpWith(row, delivery)) return
    ghost.reportedLate = true
    flow.endedLate(delivery.node as string)
  }

  /** After the end nothing changes any more, whatever reports about given-up work arrive. */
  async lastWords(): Promise<void> {
    for (const ghost of this.ghosts) await this.#report(ghost, 'succeeded', false)
  }

  async #report(held: Held, outcome: 'succeeded' | 'failed' | 'transient', wantNext: boolean): Promise<Reply> {
    const { delivery } = held
    this.log.push(`${outcome} ${nameOf(delivery)}${this.held.includes(held) ? '' : ' late'}`)
    const reply = await this.#process().report({ delivery, outcome, result: resultOf(delivery), wantNext })
    if (reply === DIED) throw new Error('a process died that should not have')
    return reply
  }

  /**
   * Outcomes accepted by the engine: reported to the oracle in the order in which they were made, which the rows must
   * have kept.
   */
  async recorded(reports: readonly { held: Held; outcome: 'succeeded' | 'failed' | 'transient' }[]): Promise<void> {
    const rows = new Map((await this.#witness.rows((reports[0] as { held: Held }).held.flow)).map((r) => [r.id, r]))
    let last = 0
    for (const { held, outcome } of reports) {
      const { doneSeq } = rows.get(held.delivery.runId) as RunRow
      if (doneSeq !== null && doneSeq <= last) {
        throw new LawBroken(`${nameOf(held.delivery)} was reported after number ${last}, and has number ${doneSeq}`)
      }
      last = doneSeq ?? last
      this.held = this.held.filter((h) => h !== held)
      const { flow, delivery } = held
      const again = outcome === 'transient' && delivery.attempt < delivery.maxAttempts && flow.phase !== 'drain'
      if (!again) this.known.add(delivery.runId)
      if (delivery.role === 'undo') {
        if (!again) flow.undoEnded(outcome === 'succeeded')
      } else if (again) flow.back(delivery.node as string)
      else flow.ended(delivery.node as string, outcome === 'succeeded')
    }
  }

  /** The worker may no longer end it. */
  release(row: RunRow, givenUp: boolean): void {
    const held = this.held.find((h) => h.delivery.runId === row.id)
    if (held === undefined) return
    this.held = this.held.filter((h) => h !== held)
    this.ghosts.push(held)
    this.log.push(`${nameOf(held.delivery)} was taken away (${row.status})`)
    if (!givenUp && row.role === 'work') held.flow.back(row.node as string)
  }
}

export function nameOf({ role, node, epoch }: Delivery): string {
  return `${role === 'undo' ? 'undo ' : ''}${node}#${epoch}`
}

export function resultOf({ node }: Delivery): string {
  return JSON.stringify({ by: node })
}

/**
 * No other worker will execute it: it failed with this execution, the deadline of the workflow ended this execution, or
 * this one was lost and the next was cancelled before it began.
 */
function givenUpWith(row: RunRow, { epoch }: Delivery): boolean {
  if (row.status === 'failed') return row.epoch === epoch + 1
  const { code } = JSON.parse(row.error ?? '{}') as { readonly code?: string }
  if (row.status !== 'cancelled') return false
  return code === 'timeout' ? row.epoch === epoch + 1 : row.epoch === epoch + 2 && code === 'worker_lost'
}
