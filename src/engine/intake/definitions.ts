/**
 * Deployed definitions are started here, by name: from the plan that was stored when they were deployed, so that no text
 * is read again and a version always means the same.
 *
 * The first start of a version marks it as used before the instance exists. A deploy that is to replace its text either comes
 * first (the mark fails, and the start reads the version again) or is refused. If the process dies between mark and
 * instance, the text is frozen although no instance uses it, which does no further harm.
 *
 * A trigger (an event, a due time of a schedule) has a key, which is reserved as a name in the transaction that starts the
 * instances: the same trigger starts nothing twice, and one that was interrupted is completed by sending it again.
 */

import { PetrelError } from '../../kernel/errors.ts'
import { EngineKey } from '../../kernel/scoped-names.ts'
import { StoreConflictError } from '../../kernel/store-errors.ts'
import {
  type DefinitionHead,
  type DefinitionName,
  type DefinitionRow,
  unknownDefinition,
} from '../../model/definitions.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type {
  DefinitionStarted,
  Startable,
  StartDefinition,
  Started,
  StartParams,
  TriggerDefinition,
  Triggered,
} from '../../model/start.ts'
import type { Json } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import type { Store } from '../../store/store.ts'
import { startIdle } from '../fold/instance/idle-start.ts'
import { memberOf } from '../fold/members.ts'
import { quotaNeed } from '../fold/quotas.ts'
import { putSlot } from '../fold/slots.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Offer } from '../transaction/handoff.ts'
import { merge, type Transactor } from '../transaction/transactor.ts'
import type { Intake } from './intake.ts'
import type { Plans } from './plans.ts'
import type { Made, SameTransaction } from './same-transaction.ts'

export interface DefinitionDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly intake: Intake
  readonly plans: Plans
  readonly offers: () => readonly Offer[]
  readonly probe: (point: string) => void
}

/** How many idle instances one transaction starts. */
const CHUNK = 200
const TRIES = 20

const NOTHING: SameTransaction = { need: {}, admits: () => true, write: () => {} }

type About = { readonly [key: string]: Json }

export class DefinitionStarts {
  readonly #deps: DefinitionDeps

  constructor(deps: DefinitionDeps) {
    this.#deps = deps
  }

  async start(p: StartDefinition): Promise<DefinitionStarted> {
    const { params, row } = await this.#paramsOf(p)
    const [made] = await this.#deps.intake.start([params])
    return { ...(made as Started), definition: row }
  }

  /** In the transaction of another part; nothing is started that it does not admit. */
  async startWith(p: StartDefinition, same: SameTransaction): Promise<void> {
    const { params } = await this.#paramsOf(p)
    await this.#deps.intake.startWith(params, same)
  }

  /** Refuses what cannot be started now. */
  async check(p: StartDefinition): Promise<void> {
    this.#deps.intake.checkGiven(p)
    const { name, version } = p
    const head = await this.#deps.store.definitions.find({ tenant: p.tenant, name, version })
    if (head === null) throw unknownDefinition(name, version)
    if (head.retiredAt !== null) throw retired(head)
  }

  async #paramsOf(p: StartDefinition): Promise<{ readonly params: StartParams; readonly row: DefinitionRow }> {
    // Before the version is marked as used, so that a refused start changes nothing.
    this.#deps.intake.checkGiven(p)
    const { row, start } = await this.#take({ ...p, tenant: p.owner === undefined ? p.tenant : p.owner })
    const params: StartParams = {
      ...start,
      ...(p.input === null ? {} : { input: p.input }),
      ...(p.startKey === undefined ? {} : { startKey: p.startKey }),
      ...(p.id === undefined ? {} : { id: p.id }),
      ...(p.start === undefined ? {} : { start: p.start }),
      ...identity(p.tenant, p.actor),
      ...tagsOf(row, p.tags),
      ...(p.fairKey === undefined ? {} : { fairKey: p.fairKey }),
      meta: metaOf(row, start, p.meta ?? null, p.trigger ?? { kind: 'manual' }),
    }
    return { params, row }
  }

  /** `same` is written with the last start; nothing is started that it does not admit. */
  async trigger(p: TriggerDefinition, same: SameTransaction = NOTHING): Promise<readonly Triggered[]> {
    this.#deps.intake.checkGiven(p)
    const before = await this.#startedBy(p.key)
    if (before !== null) return this.#later([before], same)
    const started: Triggered[] = []
    for (;;) {
      const idle = await this.#deps.store.definitions.idle({ ...p.of, limit: CHUNK + 1 })
      if (idle.length === 0) break
      const last = idle.length <= CHUNK
      const begun = await this.#startIdle(idle.slice(0, CHUNK), p, { same, before: last ? started : null })
      if (begun === null) return started
      if (!Array.isArray(begun)) return this.#later([begun as Triggered], same)
      started.push(...begun)
      this.#deps.probe('trigger-started')
      // If other processes have started all of them meanwhile, the key was not reserved: look again.
      if (last && begun.length > 0) return started
    }
    if (started.length === 0) return this.#startNew(p, same)
    await this.#reserve(p.key, started, same)
    return started
  }

  /** What was started is committed already. */
  async #later(started: readonly Triggered[], same: SameTransaction): Promise<readonly Triggered[]> {
    if (same === NOTHING) return started
    const fold = (change: WorkingSet): void => {
      if (same.admits(change)) same.write(change, started)
    }
    await this.#deps.transactor.run({ roots: [], wait: true, need: same.need, fold })
    return started
  }

  /** For what was started in several portions, of which none turned out to be the last. */
  async #reserve(name: string, started: readonly Triggered[], same: SameTransaction): Promise<void> {
    const fold = (change: WorkingSet): void => {
      change.names.push({ name, rootId: (started[0] as Triggered).id })
      if (same.admits(change)) same.write(change, started)
    }
    await this.#deps.transactor.run({ roots: [], wait: true, need: same.need, fold }).catch((error: unknown) => {
      if (!(error instanceof StoreConflictError)) throw error
    })
  }

  /**
   * The instances it started, or the one that the same trigger started before; null: not admitted. `before`: what was
   * started before the last portion; null: this is not the last one.
   */
  async #startIdle(
    rows: readonly InstanceRow[],
    p: TriggerDefinition,
    { same, before }: { readonly same: SameTransaction; readonly before: readonly Made[] | null },
  ): Promise<readonly Triggered[] | Triggered | null> {
    const roots = rows.map((row) => row.id)
    try {
      const { value } = await this.#deps.transactor.run({
        roots,
        wait: true,
        need: merge([
          { slots: roots.map((instanceId) => ({ instanceId, keys: [SLOT.about.key] })) },
          quotaNeed(rows.map((row) => row.quotaKey)),
          same.need,
        ]),
        offers: this.#deps.offers,
        fold: (change) => {
          if (!same.admits(change)) return null
          const idle = roots.filter((id) => change.loaded.locked.has(id) && memberOf(change, id).row.state === 'idle')
          const [first] = idle
          const begun = idle.map((id) => {
            const version = noteTrigger(change, id, p.trigger)
            startIdle(change, memberOf(change, id), p.actor)
            return { id, created: true, version }
          })
          if (before !== null && first !== undefined) {
            change.names.push({ name: p.key, rootId: first })
            same.write(change, [...before, ...begun])
          }
          return begun
        },
      })
      return value
    } catch (error) {
      const other = error instanceof StoreConflictError ? await this.#startedBy(p.key) : null
      if (other === null) throw error
      return other
    }
  }

  async #startNew(p: TriggerDefinition, same: SameTransaction): Promise<readonly Triggered[]> {
    const { row, start } = await this.#take({ ...p.of, version: null })
    const params: StartParams = {
      ...start,
      ...(p.input === null ? {} : { input: p.input }),
      startKey: new EngineKey(p.key),
      names: [p.key],
      ...identity(row.tenant, p.actor),
      ...tagsOf(row),
      meta: metaOf(row, start, null, p.trigger),
    }
    try {
      const { intake } = this.#deps
      const made = same === NOTHING ? (await intake.start([params]))[0] : await intake.startWith(params, same)
      return made == null ? [] : [{ ...made, version: row.version }]
    } catch (error) {
      const before = error instanceof PetrelError && error.code === 'duplicate' ? await this.#startedBy(p.key) : null
      if (before === null) throw error
      return this.#later([before], same)
    }
  }

  async #startedBy(key: string): Promise<Triggered | null> {
    const id = (await this.#deps.store.read.trees.nameHolders([key])).get(key)
    return id === undefined ? null : { id, created: false, version: null }
  }

  /** Reads the plan of a version, which counts as used from now on. */
  async #take(p: DefinitionName & { readonly version: string | null }): Promise<{
    readonly row: DefinitionRow
    readonly start: Startable
  }> {
    const { store, plans, probe } = this.#deps
    const { tenant, name, version } = p
    for (let tries = 0; tries < TRIES; tries++) {
      const head = await store.definitions.find({ tenant, name, version })
      if (head === null) throw unknownDefinition(name, version)
      if (head.retiredAt !== null) throw retired(head)
      const plan = await plans.of(head)
      probe('definition-found')
      const usedAt = head.usedAt ?? (plan === null ? null : await store.definitions.use(head))
      if (plan === null || usedAt === null) continue
      return { start: plan.start, row: { ...plan.row, ...head, usedAt } }
    }
    throw new PetrelError('unavailable', `definition '${name}' is being replaced again and again`)
  }
}

function retired({ name, version }: DefinitionHead): PetrelError {
  const message = `version '${version}' of workflow '${name}' is retired: nothing starts it; deploy it again to bring it back`
  return new PetrelError('conflict', message, { name, version })
}

function identity(tenant: string | null, actor: string | null): Pick<StartParams, 'tenant' | 'initiator'> {
  return { ...(tenant === null ? {} : { tenant }), ...(actor === null ? {} : { initiator: actor }) }
}

/** Those of the version and those of the start. */
function tagsOf({ tags }: DefinitionRow, given: readonly string[] = []): Pick<StartParams, 'tags'> {
  const own = tags === null ? [] : (JSON.parse(tags) as readonly string[])
  return own.length + given.length === 0 ? {} : { tags: [...own, ...given] }
}

function metaOf({ id, name, version }: DefinitionRow, { meta }: Startable, given: Json, trigger: Json): Json {
  if (given !== null && !isObject(given)) throw new PetrelError('invalid_request', 'meta: an object')
  const own = isObject(meta) ? meta : {}
  return { ...own, ...given, definition: { name, version, id }, trigger }
}

/** Records the trigger in the meta of an instance that was idle. Returns the version that its meta names. */
function noteTrigger(change: WorkingSet, id: string, trigger: Json): string | null {
  const text = change.loaded.slots.get(`${id}/${SLOT.about.key}`) ?? null
  const about = text === null ? {} : (JSON.parse(text) as About)
  const meta = isObject(about['meta']) ? about['meta'] : {}
  putSlot(memberOf(change, id), SLOT.about.key, { ...about, meta: { ...meta, trigger } })
  const version = isObject(meta['definition']) ? meta['definition']['version'] : null
  return typeof version === 'string' ? version : null
}

function isObject(value: unknown): value is About {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
