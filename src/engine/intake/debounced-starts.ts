/**
 * Debounced starts. A start is kept in a row of its key; one that follows replaces what it would start and moves the time.
 * When the row is due, one transaction starts the instance and removes the row, provided that the row is still as it was found,
 * so that any number of processes may try. The id of the instance is chosen with the first start of a series.
 */
import type { DebounceParams, DebounceRow, KeptStart } from '../../model/schedules/debounce.ts'
import { debounceKey } from '../../model/schedules/debounce.ts'
import type { StartDefinition } from '../../model/start.ts'
import { retryUntilStored } from '../transaction/retry-until-stored.ts'
import type { Transactor } from '../transaction/transactor.ts'
import type { DefinitionStarts } from './definitions.ts'

interface Deps {
  readonly transactor: Transactor
  readonly definitions: DefinitionStarts
  readonly newId: () => string
  readonly dueAt: (at: number) => void
}

export class DebouncedStarts {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async put(p: StartDefinition, { key: given, delayMs, maxMs }: DebounceParams): Promise<DebounceRow> {
    const { transactor, definitions, newId, dueAt } = this.#deps
    await definitions.check(p)
    const key = debounceKey(p.tenant, p.name, given)
    const { input, meta, tags } = p
    const kept: KeptStart = { input, ...(meta === undefined ? {} : { meta }), ...(tags === undefined ? {} : { tags }) }
    const start = JSON.stringify(kept)
    const instanceId = newId()
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
            key,
            instanceId: before?.instanceId ?? instanceId,
            name: p.name,
            version: p.version,
            tenant: p.tenant,
            start,
            actor: p.actor,
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
  async fire({ key, instanceId, name, version, tenant, start, actor, dueAt }: DebounceRow): Promise<void> {
    const kept = JSON.parse(start) as KeptStart
    const trigger = { kind: 'debounced' }
    const asked: StartDefinition = { ...kept, id: instanceId, name, version, tenant, actor, trigger }
    await this.#deps.definitions.startWith(asked, {
      need: { debounces: [key] },
      // Started by another process, or replaced since.
      admits: ({ loaded }) => {
        const row = loaded.debounces.get(key)
        return row !== undefined && row.instanceId === instanceId && row.dueAt === dueAt && row.start === start
      },
      write: (change) => void change.debounces.set(key, null),
    })
  }
}
