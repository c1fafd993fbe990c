/** Debounced starts of definitions and of runs: put, listed, cancelled, started before they are due. */
import { missing } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import type { DebouncedRun, DebounceParams, DebounceRow } from '../../model/schedules/debounce.ts'
import { actorOf, maySee } from '../caller.ts'
import type { StartAsked } from '../instances/change.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { ofTheOnly } from '../runs/enqueue.ts'

interface ById {
  readonly id: string
}

interface Debounced {
  readonly debounce: DebounceParams
}

/** Starts a deployed definition when no other start has followed under its key for a while. */
export const debounceStart = operation(
  { scope: 'enqueue' },
  ({ engine, caller }, { debounce, ...asked }: StartAsked & Debounced): Promise<DebounceRow> =>
    engine.debounceStart({ ...asked, tenant: caller.tenant, actor: actorOf(caller) }, debounce),
)

/** The same for a run. A full queue refuses it now, not when it is due. */
export const debounceRun = operation(
  { scope: 'enqueue' },
  async ({ engine, bounds, caller }, { debounce, run }: { readonly run: DebouncedRun } & Debounced) => {
    const actor = actorOf(caller)
    const tenant = caller.tenant ?? run.tenant
    const own = { ...run, ...(tenant === undefined ? {} : { tenant }), ...(actor === null ? {} : { actor }) }
    try {
      const put = (): Promise<DebounceRow> => engine.debounceRun(own, debounce)
      const { done, pressure } = await bounds.admit(new Map([[run.queue ?? 'default', 1]]), put)
      return { row: done, pressure }
    } catch (error) {
      throw ofTheOnly(error)
    }
  },
)

/** The newest series first. */
export const listDebounced = operation(
  { scope: 'read' },
  (
    { engine, caller: { tenant } },
    { limit, before }: { readonly limit: number; readonly before: string | null },
  ): Promise<Page<DebounceRow>> =>
    pageOf(limit, (most) => engine.queries.debounces.list({ tenant, limit: most, before })),
)

export const startDebounced = operation({ scope: 'enqueue' }, async (use, { id }: ById): Promise<DebounceRow> => {
  const row = await find(use, id)
  return use.engine.startDebounced(row.id)
})

export const cancelDebounced = operation({ scope: 'enqueue' }, async (use, { id }: ById): Promise<DebounceRow> => {
  const row = await find(use, id)
  return use.engine.cancelDebounced(row.id)
})

async function find({ engine, caller }: Use, given: string): Promise<DebounceRow> {
  const id = readId(given)
  const row = id === null ? null : await engine.queries.debounces.get(id)
  if (row === null || !maySee(caller, row)) throw missing('debounced start', given)
  return row
}
