/** Operators pause and resume definitions and types: rules that hold for everything of that name. */

import { inputError, PetrelError } from '../../kernel/errors.ts'
import { MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import { storeEvent } from '../../model/events/events.ts'
import { quotaKey } from '../../model/limits.ts'
import {
  MOST_PAUSED_RULES,
  newPause,
  PARKED_AT_ONCE,
  type PauseKey,
  type PauseRow,
  pauseName,
} from '../../model/pauses/pauses.ts'
import type { Need } from '../../model/transaction.ts'
import type { Store } from '../../store/store.ts'
import { quotaNeed } from '../fold/quotas.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { checkReason } from './pause-reason.ts'
import { alreadyPaused } from './pauses.ts'

export interface PauseRuleDeps {
  readonly store: Store
  readonly transactor: Transactor
  /** Runs of these queues are claimable again; null: of any queue. */
  readonly released: (queues: readonly string[] | null) => void
}

type By = { readonly actor: string | null }
type Because = By & { readonly reason: string | null }

export interface DefinitionNamed {
  readonly name: string
  readonly tenant: string | null
}

export class PauseRules {
  readonly #deps: PauseRuleDeps

  constructor(deps: PauseRuleDeps) {
    this.#deps = deps
  }

  /** New instances of the definition wait in the queue. Those that have begun continue. */
  async pauseDefinition(p: DefinitionNamed & Because): Promise<PauseRow> {
    checkReason(p.reason)
    await this.#checkRoom()
    const key = definitionKey(p)
    return this.#act(key, quotaNeed([key.key]), (change, before) => {
      if (before?.state === 'paused') throw alreadyPaused(`definition ${p.name}`, before)
      const { tenant, actor, reason } = p
      const pause = newPause(key, { tenant, actor, reason, pausedAt: change.now })
      change.pauses.set(pauseName(key), pause)
      const data = { name: p.name, ...(reason === null ? {} : { reason }) }
      change.events.push(storeEvent('workflow.paused', data, { actor, tenant, at: change.now }))
      return pause
    })
  }

  /** Those that waited begin, in their order; new ones queue behind them until all have begun. */
  async resumeDefinition(p: DefinitionNamed & By): Promise<PauseRow> {
    const key = definitionKey(p)
    return this.#act(key, quotaNeed([key.key]), (change, before) => {
      if (before === undefined || before.state !== 'paused') {
        throw new PetrelError('conflict', `definition ${p.name} is not paused`, { paused: false })
      }
      if (change.loaded.queuedUnder.get(key.key) === true) {
        change.pauses.set(pauseName(key), { ...before, state: 'resuming', resumedAt: change.now })
        change.admission.freed.add(key.key)
      } else change.overPauses.push(key)
      const data = { name: p.name, paused_ms: Math.max(0, change.now - before.pausedAt) }
      const about = { actor: p.actor, tenant: p.tenant, at: change.now }
      change.events.push(storeEvent('workflow.resumed', data, about))
      return before
    })
  }

  /** Removes the pause of a definition whose queue is empty. */
  async finishDefinition(key: string): Promise<void> {
    const pause = { kind: 'definition', key } as const
    await this.#act(pause, quotaNeed([key]), (change, before) => {
      if (before?.state !== 'resuming') return
      if (change.loaded.queuedUnder.get(key) === true) change.admission.freed.add(key)
      else change.overPauses.push(pause)
    })
  }

  /** No worker claims a run of the type. What is held continues. */
  async pauseType(p: { readonly type: string } & Because): Promise<PauseRow> {
    checkReason(p.reason)
    checkType(p.type)
    await this.#checkRoom()
    const key = { kind: 'type', key: p.type } as const
    return this.#act(key, {}, (change, before) => {
      if (before !== undefined) throw alreadyPaused(`type ${p.type}`, before)
      const { actor, reason } = p
      const pause = newPause(key, { actor, reason, pausedAt: change.now })
      change.pauses.set(pauseName(key), pause)
      const data = { type: p.type, ...(reason === null ? {} : { reason }) }
      change.events.push(storeEvent('registry.paused', data, { actor, tenant: null, at: change.now }))
      return pause
    })
  }

  async resumeType(p: { readonly type: string } & By): Promise<PauseRow> {
    checkType(p.type)
    const key = { kind: 'type', key: p.type } as const
    const before = await this.#act(key, {}, (change, before) => {
      if (before === undefined) {
        throw new PetrelError('conflict', `type ${p.type} is not paused`, { paused: false })
      }
      change.overPauses.push(key)
      const data = { type: p.type, paused_ms: Math.max(0, change.now - before.pausedAt) }
      change.events.push(storeEvent('registry.resumed', data, { actor: p.actor, tenant: null, at: change.now }))
      return before
    })
    await this.releaseType(p.type)
    this.#deps.released(null)
    return before
  }

  /** Runs that claims by plain SQL have met and parked. */
  async releaseType(type: string): Promise<void> {
    const { store, released } = this.#deps
    for (;;) {
      const { done, queues } = await store.pauses.releaseType({ type, limit: PARKED_AT_ONCE })
      if (queues.length > 0) released(queues)
      if (done) return
    }
  }

  /** Every process knows all rules, and every claim by plain SQL looks one up. */
  async #checkRoom(): Promise<void> {
    if ((await this.#deps.store.pauses.countRules()) < MOST_PAUSED_RULES) return
    throw new PetrelError(
      'conflict',
      `${MOST_PAUSED_RULES} definitions and types are paused already, which is the most`,
      {
        hint: 'Resume some of them, or pause a queue.',
      },
    )
  }

  async #act<T>(key: PauseKey, need: Need, fold: (change: WorkingSet, before: PauseRow | undefined) => T): Promise<T> {
    const { value } = await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: { ...need, pauses: [key] },
      fold: (change) => fold(change, change.loaded.pauses.get(pauseName(key))),
    })
    return value
  }
}

function definitionKey({ name, tenant }: DefinitionNamed): PauseKey {
  return { kind: 'definition', key: quotaKey(name, tenant) }
}

function checkType(type: unknown): void {
  const fits = typeof type === 'string' && type !== '' && type.length <= MAX_TYPE_LENGTH
  if (fits && type.isWellFormed() && !type.includes('\0') && !type.endsWith('%')) return
  throw inputError(
    'invalid_request',
    'type',
    `a type such as 'content.thumbnail.v1', of 1 to ${MAX_TYPE_LENGTH} characters; no prefix`,
  )
}
