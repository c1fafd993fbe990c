/**
 * Reads of runs for display: a parked run comes with the time at which it is due without its pause. Only where one is among the
 * rows is there a second statement, for all of them.
 */
import type { Queries } from '../model/queries/queries.ts'
import { PARKED_AT, type RunRow } from '../model/rows.ts'

export function withPlannedTimes(read: Queries): Queries {
  const planned = async <R extends Placed>(found: Promise<readonly R[]>): Promise<readonly R[]> => {
    const rows = await found
    const parked = rows.filter(isParked)
    if (parked.length === 0) return rows
    const times = await read.plannedTimes(parked.flatMap(ownersOf))
    return rows.map((row) => {
      const at = isParked(row) ? times.get(row.id) : undefined
      return at === undefined ? row : { ...row, plannedAt: at }
    })
  }
  const shown: Partial<Queries> = {
    run: async (id) => {
      const row = await read.run(id)
      return row === null || !isParked(row) ? row : ((await planned(Promise.resolve([row])))[0] ?? row)
    },
    runs: (p) => planned(read.runs(p)),
    listRuns: (p) => planned(read.listRuns(p)),
    listInbox: async (p) => {
      const page = await read.listInbox(p)
      const runs = await planned(Promise.resolve(page.runs))
      return { ...page, runs }
    },
    instanceRuns: (p) => planned(read.instanceRuns(p)),
    places: overlaid(read.places, {
      runs: (p) => planned(read.places.runs(p)),
      shownRuns: (p) => planned(read.places.shownRuns(p)),
    }),
    search: overlaid(read.search, {
      runs: async (p) => {
        const page = await read.search.runs(p)
        return { ...page, rows: await planned(Promise.resolve(page.rows)) }
      },
    }),
  }
  return overlaid(read, shown)
}

/** `target` with some methods replaced. It may be an instance of a class, whose methods a copy would not have. */
function overlaid<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(own, name)) return own[name as keyof T]
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

type Placed = Pick<RunRow, 'id' | 'rootId' | 'type' | 'status' | 'runAt'>

function isParked({ status, runAt }: Placed): boolean {
  return status === 'pending' && runAt >= PARKED_AT
}

/** A paused tree, or a paused type. */
function ownersOf({ id, rootId, type }: Placed): readonly { readonly owner: string; readonly id: string }[] {
  return [...(rootId === null ? [] : [{ owner: rootId, id }]), { owner: `type:${type}`, id }]
}
