/** Operations on instances, queues, limits and workers by people and other systems. Those on runs are in runs.ts. */

import { missing, PetrelError } from '../../kernel/errors.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { type EventData, storeEvent } from '../../model/events/events.ts'
import type { LimitParams } from '../../model/limits.ts'
import { checkLimit, isQuotaKey } from '../../model/limits.ts'
import { newPause, pauseName } from '../../model/pauses/pauses.ts'
import type { InstanceRow, RunRow, WorkerRow } from '../../model/rows.ts'
import type { Need } from '../../model/transaction.ts'
import type { Happening, Place } from '../../net/marking.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { followersOf, mayFollow, mayResume } from '../../net/transitions.ts'
import type { Store } from '../../store/store.ts'
import { recordEvent } from '../fold/events.ts'
import { happen } from '../fold/happenings.ts'
import { startIdle } from '../fold/instance/idle-start.ts'
import { memberOf } from '../fold/members.ts'
import { unpause } from '../fold/parking.ts'
import { checkRoomToResume, quotaNeed } from '../fold/quotas.ts'
import { findRun } from '../fold/run/changed-runs.ts'
import { prepareRedrive } from '../fold/run/redrives.ts'
import { placeOf } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Transactor } from '../transaction/transactor.ts'

export interface ControlDeps {
  readonly store: Store
  readonly transactor: Pick<Transactor, 'run'>
  readonly offers: () => readonly Offer[]
  readonly maxPayloadBytes: number
}

type Actor = { readonly actor: string | null }

export class Control {
  readonly #deps: ControlDeps

  constructor(deps: ControlDeps) {
    this.#deps = deps
  }

  async cancelInstance(
    p: { readonly id: string; readonly once?: boolean; readonly undo?: boolean } & Actor,
  ): Promise<InstanceRow> {
    const { paused } = await this.#instance(p.id)
    return this.#onInstance(p.id, paused === null ? {} : pauseNeed(p.id), (change) => {
      const { row } = memberOf(change, p.id)
      if (TERMINAL.has(row.state) || (p.once === true && row.state === 'cancelling')) {
        throw new PetrelError('conflict', `instance ${p.id} is already ${row.state}`, { state: row.state })
      }
      if (row.phase === 'undo' || row.state === 'compensating') {
        throw new PetrelError(
          'conflict',
          `instance ${p.id} is undoing its work; a half undone workflow is never abandoned`,
          { state: row.state },
        )
      }
      endPause(change, p)
      if (p.undo !== true) return happenBy(change, p.id, { kind: 'cancel' }, 'instance.cancel_requested', p.actor, {})
      if (row.phase !== 'forward') {
        const message = `instance ${p.id} is ending already (${row.reason ?? row.phase}); its work cannot be undone any more`
        throw new PetrelError('conflict', message, { state: row.state })
      }
      happenBy(change, p.id, { kind: 'roll-back' }, 'instance.cancel_requested', p.actor, { undo: true })
    })
  }

  async patchContext(
    p: { readonly instanceId: string; readonly set: { readonly [name: string]: Json } } & Actor,
  ): Promise<InstanceRow> {
    storableText(p.set as Json, 'set', this.#deps.maxPayloadBytes)
    return this.#onInstance(p.instanceId, {}, (change) => {
      const { row } = memberOf(change, p.instanceId)
      if (TERMINAL.has(row.state)) {
        throw new PetrelError(
          'conflict',
          `instance ${p.instanceId} is already ${row.state}; its context can no longer change`,
          { state: row.state },
        )
      }
      const happening = { kind: 'patched', set: p.set } as const
      happenBy(change, p.instanceId, happening, 'instance.patched', p.actor, { set: Object.keys(p.set) })
    })
  }

  async startInstance(p: { readonly id: string } & Actor): Promise<InstanceRow> {
    const { quotaKey } = await this.#instance(p.id)
    return this.#onInstance(p.id, quotaNeed([quotaKey]), (change) => {
      const member = memberOf(change, p.id)
      const { state } = member.row
      if (!mayFollow(state, 'queued')) {
        const allowed = followersOf(state)
        const next = allowed.length === 0 ? 'it has ended' : `it can become ${allowed.join(', ')}`
        throw new PetrelError('conflict', `instance ${p.id} is ${state}; only an idle one can be started (${next})`, {
          state,
          allowed,
        })
      }
      if (member.row.paused !== null) {
        throw new PetrelError('conflict', `instance ${p.id} is paused; resume it, then start it`, {
          state,
          paused: true,
        })
      }
      startIdle(change, member, p.actor)
    })
  }

  /** Continues an instance in place where it stopped: forward, or at the undo that did not succeed. */
  async resumeInstance(p: { readonly id: string } & Actor): Promise<InstanceRow> {
    const { store } = this.#deps
    const runs = await this.#stoppedRuns(p.id)
    const { quotaKey } = await this.#instance(p.id)
    const asked = await store.commands.ofInstance({ instanceId: p.id })
    const commands = new Map(asked.map(({ runId, subject, body, resendMs }) => [runId, { subject, body, resendMs }]))
    const need = { runs: runs.map((r) => r.id), ...quotaNeed([quotaKey]) }
    return this.#onInstance(p.id, need, (change) => {
      const { row, net } = memberOf(change, p.id)
      if (!mayResume(net.net, row)) {
        throw new PetrelError(
          'conflict',
          `instance ${p.id} is ${row.state} and did not stop in a way that can be resumed; retry it instead`,
          { state: row.state },
        )
      }
      checkRoomToResume(change, row)
      const places: Place[] = []
      for (const { id } of runs) {
        const run = findRun(change, id) as RunRow
        prepareRedrive(change, run, {}, null, commands.get(id) ?? null)
        if (run.role === 'work') places.push(placeOf(run))
      }
      happenBy(change, p.id, { kind: 'resume', places }, 'instance.resume_requested', p.actor, {})
    })
  }

  async #stoppedRuns(instanceId: string): Promise<readonly RunRow[]> {
    const stopped: RunRow[] = []
    for (let after: string | null = null; ; ) {
      const page: readonly RunRow[] = await this.#deps.store.read.instanceRuns({ instanceId, limit: 1000, after })
      stopped.push(...page.filter((r) => r.status === 'failed' || r.status === 'cancelled'))
      if (page.length < 1000) return stopped
      after = (page.at(-1) as RunRow).id
    }
  }

  async pauseQueue(p: { readonly queue: string; readonly paused: boolean } & Actor): Promise<void> {
    await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: { queues: [p.queue] },
      fold: (change) => {
        change.queues.set(p.queue, { name: p.queue, paused: p.paused })
        recordQueuePause(change, p)
        const type = p.paused ? 'queue.paused' : 'queue.resumed'
        change.events.push(storeEvent(type, { queue: p.queue }, { actor: p.actor, tenant: null, at: change.now }))
      },
    })
  }

  /** running → quiet → terminate; a worker never goes back. */
  async directWorker(
    p: { readonly id: string; readonly state: 'quiet' | 'terminate'; readonly now?: boolean } & Actor,
  ): Promise<WorkerRow> {
    const { value } = await this.#act(null, { sessions: [p.id] }, (change) => {
      const worker = change.loaded.sessions.get(p.id)
      if (worker === undefined) {
        throw missing('worker', p.id)
      }
      if (worker.state === 'dead') throw new PetrelError('conflict', `worker ${p.id} is dead`, { state: 'dead' })
      if (worker.state === 'terminate' || worker.state === p.state) return worker
      const directed: WorkerRow = { ...worker, state: p.state }
      change.workers.set(p.id, directed)
      const about = { actor: p.actor, tenant: worker.tenant, at: change.now }
      change.events.push(storeEvent('worker.directed', { worker: p.id, state: p.state }, about))
      return directed
    })
    if (p.now === true && value.holds === 'lease') await this.#deps.store.sweep.beatLease({ worker: value, ttlMs: 0 })
    return value
  }

  async setLimit(p: LimitParams): Promise<void> {
    checkLimit(p)
    await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: isQuotaKey(p.key) ? { heldLimits: [p.key] } : { limits: [p.key] },
      fold: (change) => change.admission.set(p),
    })
    // Runs leased before the limit existed count against it too.
    await this.#deps.store.sweep.recountLimits({ keys: [p.key] })
  }

  async #onInstance(id: string, need: Need, fold: (change: WorkingSet) => void): Promise<InstanceRow> {
    const found = await this.#instance(id)
    const { value } = await this.#act(found.rootId, { instances: [id], ...need }, (change) => {
      fold(change)
      return memberOf(change, id).row
    })
    return value
  }

  #act<T>(rootId: string | null, need: Need, fold: (change: WorkingSet) => T): Promise<{ readonly value: T }> {
    const { transactor, offers } = this.#deps
    return transactor.run({ roots: rootId === null ? [] : [rootId], wait: true, need, offers, fold })
  }

  async #instance(id: string): Promise<InstanceRow> {
    const row = await this.#deps.store.read.instance(id)
    if (row === null) throw new PetrelError('not_found', `there is no instance ${id}`, { id })
    return row
  }
}

/** Who paused it, for those who ask. A queue that is paused already keeps the first one. */
function recordQueuePause(change: WorkingSet, p: { readonly queue: string; readonly paused: boolean } & Actor): void {
  const key = { kind: 'queue', key: p.queue } as const
  if (!p.paused) change.overPauses.push(key)
  else if (change.loaded.queues.get(p.queue)?.paused !== true) {
    change.pauses.set(pauseName(key), newPause(key, { actor: p.actor, pausedAt: change.now }))
  }
}

/** Work that stops or undoes must run, so a cancel of a paused tree ends its pause. One nested in it stays paused. */
function endPause(change: WorkingSet, { id, actor }: { readonly id: string } & Actor): void {
  const member = memberOf(change, id)
  if (member.row.paused !== null) unpause(change, member, { actor, cause: 'cancel' })
}

function pauseNeed(id: string): Need {
  return { pauses: [{ kind: 'instance', key: id }], foreignReturns: [id] }
}

type Request = 'instance.patched' | 'instance.cancel_requested' | 'instance.resume_requested'

function happenBy<T extends Request>(
  change: WorkingSet,
  id: string,
  happening: Happening,
  event: T,
  actor: string | null,
  more: Omit<NonNullable<EventData[T]>, 'actor'>,
): void {
  const data = { ...(actor === null ? {} : { actor }), ...more }
  recordEvent(change, memberOf(change, id), event, null, (Object.keys(data).length === 0 ? null : data) as EventData[T])
  happen(change, id, happening)
}
