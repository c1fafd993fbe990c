/**
 * Debounced starts. A start is kept in a row of its key; one that follows replaces what it would start and moves the time.
 * When the row is due, one transaction makes the instance or the run and removes the row, provided that the row is still as it
 * was found, so that any number of processes may try. The id of what is made is chosen with the first start of a series.
 */
import { PetrelError } from '../../kernel/errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import type { DebouncedRun, DebounceParams, DebounceRow, KeptRun, KeptStart } from '../../model/schedules/debounce.ts'
import { debounceKey } from '../../model/schedules/debounce.ts'
import type { StartDefinition } from '../../model/start.ts'
import type { Store } from '../../store/store.ts'
import { retryUntilStored } from '../transaction/retry-until-stored.ts'
import type { Transactor } from '../transaction/transactor.ts'
import type { DefinitionStarts } from './definitions.ts'
import type { Intake } from './intake.ts'
import type { SameTransaction } from './same-transaction.ts'

interface Deps {
  readonly store: Store
  readonly transactor: Transactor
  readonly intake: Intake
  readonly definitions: DefinitionStarts
  readonly newId: () => string
  readonly dueAt: (at: number) => void
}

/** Another start may replace it between two tries to start it now. */
const TRIES = 10

type Kept = Pick<DebounceRow, 'kind' | 'name' | 'version' | 'tenant' | 'start' | 'actor'>

export class DebouncedStarts {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async put(p: StartDefinition, debounce: DebounceParams): Promise<DebounceRow> {
    await this.#deps.definitions.check(p)
    const { name, version, tenant, actor, input, meta, tags, fairKey } = p
    const kept: KeptStart = {
      input,
      ...(meta === undefined ? {} : { meta }),
      ...(tags === undefined ? {} : { tags }),
      ...(fairKey === undefined ? {} : { fairKey }),
    }
    return this.#keep({ kind: 'instance', name, version, tenant, actor, start: JSON.stringify(kept) }, debounce)
  }

  async putRun(run: DebouncedRun, debounce: DebounceParams): Promise<DebounceRow> {
    this.#deps.intake.checkRun(run)
    const { type, tenant = null, actor = null, ...rest } = run
    const kept: KeptRun = rest
    return this.#keep({ kind: 'run', name: type, version: null, tenant, actor, start: JSON.stringify(kept) }, debounce)
  }

  async #keep(kept: Kept, { key: given, delayMs, maxMs }: DebounceParams): Promise<DebounceRow> {
    const { transactor, newId, dueAt } = this.#deps
    const key = debounceKey(kept, given)
    const id = newId()
    const row = await retryUntilStored(async () => {
      const { value } = await transactor.run({
        roots: [],
        wait: true,
        need: { debounces: [key] },
        fold: (change) => {
          const { now } = change
          const before = change.loaded.debounces.get(key)
          const firstAt = before?.firstAt ?? now
          const latest = maxMs === null ? Number.POSITIVE_INFINITY : firstAt + maxMs
          const row: DebounceRow = {
            ...kept,
            key,
            id: before?.id ?? id,
            replaced: before === undefined ? 0 : before.replaced + 1,
            firstAt,
            dueAt: Math.max(now, Math.min(now + delayMs, latest)),
          }
          change.debounces.set(key, row)
          return row
        },
      })
      return value
    })
    dueAt(row.dueAt)
    return row
  }

  /** Any number of processes may call this with the same row. */
  async fire(found: DebounceRow): Promise<void> {
    const { key, id, kind, name, version, tenant, start, actor, dueAt } = found
    const same: SameTransaction = {
      need: { debounces: [key] },
      // Started by another process, or replaced since.
      admits: ({ loaded }) => {
        const row = loaded.debounces.get(key)
        return row !== undefined && row.id === id && row.dueAt === dueAt && row.start === start
      },
      write: (change) => void change.debounces.set(key, null),
    }
    const { definitions, intake } = this.#deps
    if (kind === 'run') {
      const kept = JSON.parse(start) as KeptRun
      const identity = { ...(tenant === null ? {} : { tenant }), ...(actor === null ? {} : { actor }) }
      const run: EnqueueParams = { ...kept, ...identity, id, type: name }
      await intake.enqueueWith(run, same)
      return
    }
    const trigger = { kind: 'debounced' }
    const kept = JSON.parse(start) as KeptStart
    const asked: StartDefinition = { ...kept, id, name, version, tenant, actor, trigger }
    await definitions.startWith(asked, same)
  }

  /** Starts one before it is due. If another process has just done so, that is the same. */
  async fireNow(id: string): Promise<DebounceRow> {
    const { read } = this.#deps.store
    let last: DebounceRow | null = null
    for (let tries = 0; tries < TRIES; tries++) {
      const row = await read.debounces.get(id)
      if (row === null) break
      await this.fire(row)
      last = row
    }
    if (last === null) throw unknownDebounced(id)
    const made = last.kind === 'run' ? await read.run(id) : await read.instance(id)
    if (made !== null) return last
    throw new PetrelError('conflict', `${last.name} was cancelled, or replaced again and again`, { id })
  }

  /** Nothing is started. What was started already cannot be cancelled here. */
  async cancel(id: string): Promise<DebounceRow> {
    const { store, transactor } = this.#deps
    const found = await store.read.debounces.get(id)
    if (found === null) throw unknownDebounced(id)
    const { value } = await transactor.run({
      roots: [],
      wait: true,
      need: { debounces: [found.key] },
      fold: (change) => {
        const row = change.loaded.debounces.get(found.key)
        if (row?.id !== id) throw unknownDebounced(id)
        change.debounces.set(found.key, null)
        return row
      },
    })
    return value
  }
}

function unknownDebounced(id: string): PetrelError {
  const hint = 'It has started, or was cancelled.'
  return new PetrelError('not_found', `no debounced start ${id} waits`, { kind: 'debounced start', id, hint })
}
