/** Operators pause and resume instances: model/pauses. What waits in a tree is parked and released in portions. */

import { missing, PetrelError } from '../../kernel/errors.ts'
import { StoreLockedError } from '../../kernel/store-errors.ts'
import { newPause, PARKED_AT_ONCE, type PausedTimeouts, type PauseRow } from '../../model/pauses/pauses.ts'
import type { InstanceRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import { mayResume } from '../../net/transitions.ts'
import type { Store } from '../../store/store.ts'
import { recordEvent } from '../fold/events.ts'
import { memberOf } from '../fold/members.ts'
import { pauseOf, unpause } from '../fold/parking.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { checkReason } from './pause-reason.ts'

export interface PauseDeps {
  readonly store: Store
  readonly transactor: Pick<Transactor, 'run'>
  readonly probe: (point: string) => void
  /** Runs of these queues are claimable again. */
  readonly released: (queues: readonly string[]) => void
  /** Instances under this quota may begin. */
  readonly freed: (key: string) => void
}

export interface PauseInstance {
  readonly id: string
  readonly actor: string | null
  readonly reason: string | null
  readonly timeouts: PausedTimeouts
}

/** `pause`: as it is now, or, after a resume, as it was. */
export interface PausedInstance {
  readonly row: InstanceRow
  readonly pause: PauseRow
}

export class Pauses {
  readonly #deps: PauseDeps

  constructor(deps: PauseDeps) {
    this.#deps = deps
  }

  /** When it returns, everything that waited is parked: nothing begins any more. */
  async pause({ id, actor, reason, timeouts }: PauseInstance): Promise<PausedInstance> {
    checkReason(reason)
    await this.#refuseNested(id, 'pause')
    // What an earlier pause has parked is released first.
    if ((await this.#deps.store.pauses.get({ kind: 'instance', key: id }))?.state === 'resuming') await this.#finish(id)
    const paused = await this.#act(id, (change) => {
      const member = memberOf(change, id)
      const { state, paused } = member.row
      if (TERMINAL.has(state)) {
        throw new PetrelError('conflict', `instance ${id} is already ${state}; only one that continues can be paused`, {
          state,
        })
      }
      const before = change.loaded.pauses.get(`instance ${id}`)
      if (paused !== null || before !== undefined) throw alreadyPaused(`instance ${id}`, pauseOf(change, id), { state })
      member.row = { ...member.row, paused: timeouts }
      const { tenant } = member.row
      const facts = { tenant, actor, reason, timeouts, pausedAt: change.now, state: 'pausing' } as const
      const pause = newPause({ kind: 'instance', key: id }, facts)
      change.pauses.set(`instance ${id}`, pause)
      recordEvent(change, member, 'instance.paused', null, { ...(reason === null ? {} : { reason }), timeouts }, actor)
      return pause
    })
    await this.#finish(id)
    return paused
  }

  /** Its times continue where they stood, and everything that waited is due as it was. */
  async resume({ id, actor }: { readonly id: string; readonly actor: string | null }): Promise<PausedInstance> {
    await this.#refuseNested(id, 'resume')
    const resumed = await this.#act(id, (change) => {
      const member = memberOf(change, id)
      if (member.row.paused === null) {
        const { state } = member.row
        const stopped = mayResume(member.net.net, member.row)
        const details = { state, paused: false, ...(stopped ? { stopped } : {}) }
        throw new PetrelError('conflict', `instance ${id} is ${state} and not paused`, details)
      }
      const pause = pauseOf(change, id)
      unpause(change, member, { actor, cause: null })
      return pause
    })
    await this.#finish(id)
    return resumed
  }

  /** Continues what a process that died has begun, one tree to its end. */
  async advance(rootId: string): Promise<void> {
    const { store, probe, released, freed } = this.#deps
    for (;;) {
      probe('before-pause-portion')
      const { done, queues } = await store.pauses.portion({ rootId, limit: PARKED_AT_ONCE })
      probe('after-pause-portion')
      if (queues.length > 0) released(queues)
      if (done) break
    }
    const row = await store.read.instance(rootId)
    if (row !== null && row.state === 'queued' && row.paused === null && row.quotaKey !== null) freed(row.quotaKey)
  }

  /** Rows that another transaction holds are left to the sweeper. */
  async #finish(rootId: string): Promise<void> {
    try {
      await this.advance(rootId)
    } catch (error) {
      if (!(error instanceof StoreLockedError)) throw error
    }
  }

  async #refuseNested(id: string, verb: string): Promise<void> {
    const row = await this.#deps.store.read.instance(id)
    if (row === null) throw missing('instance', id)
    if (row.rootId === id) return
    const problem = `instance ${id} is nested: its whole tree is paused and resumed; ${verb} its root ${row.rootId}`
    throw new PetrelError('conflict', problem, { root: row.rootId })
  }

  async #act(id: string, fold: (change: WorkingSet) => PauseRow): Promise<PausedInstance> {
    const need = { instances: [id], pauses: [{ kind: 'instance', key: id } as const], foreignReturns: [id] }
    const { value } = await this.#deps.transactor.run({
      roots: [id],
      wait: true,
      need,
      fold: (change) => {
        const pause = fold(change)
        return { pause, row: memberOf(change, id).row }
      },
    })
    return value
  }
}

/** With the facts of the pause that is in force. */
export function alreadyPaused(what: string, pause: PauseRow, more: { readonly state?: string } = {}): PetrelError {
  const { pausedAt, actor, reason, timeouts, state } = pause
  const since = new Date(pausedAt).toISOString()
  const by = actor === null ? '' : ` by ${actor}`
  const problem = state === 'resuming' ? 'is being resumed' : `is already paused, since ${since}${by}`
  return new PetrelError('conflict', `${what} ${problem}`, {
    ...more,
    paused: { since, by: actor, reason, timeouts },
  })
}
