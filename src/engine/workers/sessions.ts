/**
 * Sessions of workers in this process: registered, heartbeated, offered work. A session's runs live as long as its
 * heartbeats continue; when they stop, the sweeper of any process takes the runs back.
 */

import type { Delivery, Session, SessionInbox, SessionOptions, WorkerPort } from '../../worker/port.ts'
import { deliveryOf } from '../transaction/deliveries.ts'
import type { Handed, Offer } from '../transaction/handoff.ts'
import { checkFilter } from './filter.ts'
import { LocalSession, type SessionDeps } from './local-session.ts'

export class Sessions implements WorkerPort {
  readonly #deps: SessionDeps
  readonly #open = new Map<string, LocalSession>()

  constructor(deps: SessionDeps) {
    this.#deps = deps
  }

  async open(options: SessionOptions, inbox: SessionInbox): Promise<Session> {
    checkFilter(options)
    const session = new LocalSession(this.#deps, options, inbox, (before, now) => {
      this.#open.delete(before)
      if (now !== null) this.#open.set(now, session)
    })
    await session.beat()
    this.#open.set(session.id, session)
    return session
  }

  /** Sessions that could take new work: those whose reports make room, and those that have room already. */
  offers(reports: readonly { readonly sessionId: string; readonly reportId: string }[]): readonly Offer[] {
    const offers: Offer[] = []
    for (const session of this.#open.values()) {
      const own: string[] = []
      for (const { sessionId, reportId } of reports) if (sessionId === session.id) own.push(reportId)
      const offer = session.offer(own)
      if (offer !== null) offers.push(offer)
    }
    return offers
  }

  /** After the commit: delivers runs that are not part of a reply. */
  handed(handed: readonly Handed[]): void {
    const bySession = new Map<string, Delivery[]>()
    for (const id of new Set(handed.map((h) => h.offer.holder.id))) {
      const session = this.#open.get(id)
      if (session !== undefined) session.streak++
    }
    for (const { run, offer, reportId } of handed) {
      if (reportId !== null) continue
      const list = bySession.get(offer.holder.id) ?? []
      list.push(deliveryOf(run))
      bySession.set(offer.holder.id, list)
    }
    for (const [id, deliveries] of bySession) this.#open.get(id)?.inbox.deliver(deliveries)
  }

  /** Something may be claimable; null: on any queue. None of it is more urgent than `urgency`, as far as known. */
  wake(queues: ReadonlySet<string> | null, urgency?: number): void {
    for (const session of this.#open.values()) session.wake(queues, urgency)
  }

  /** A lease of a session ended without the worker's report. */
  lost(sessionId: string, runId: string, timedOut: boolean): void {
    this.#open.get(sessionId)?.inbox.stop([{ runId, reason: timedOut ? 'timeout' : 'cancel' }])
  }

  /** Cancels or pauses may concern runs of these sessions. */
  async beatNow(): Promise<void> {
    await Promise.all([...this.#open.values()].map((s) => s.beat()))
  }

  /** An unknown commit may have ended runs of these sessions. Writes nothing. */
  compare(): void {
    for (const session of this.#open.values()) session.heldRuns.compareSoon()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((s) => s.close()))
  }
}
