/** Orders bulk operations: one action on everything that a search finds. A preview shows what that would be. */
import { type ErrorDetails, PetrelError } from '../../kernel/errors.ts'
import { MAX_BULK_RATE } from '../../kernel/limits.ts'
import type { Action, Operation, OperationParameters, Target } from '../../model/bulk/rows.ts'
import type { PausedTimeouts } from '../../model/pauses/pauses.ts'
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { parseInstanceSearch, parseRunSearch } from '../../model/search/parse.ts'
import { printSearch } from '../../model/search/print.ts'
import type { CountedState, Found } from '../../model/search/queries.ts'
import { matchesEverything, type Search } from '../../model/search/search.ts'
import { NOTATIONS } from '../../notations/notations.ts'
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { ACTIONS, refusalOfInstance, refusalOfRun } from './foreseen.ts'

const ORDERING = { scope: 'admin' } as const
const EXAMPLES = 5
/** Rows that a preview looks at for examples and refusals. */
const EXAMINED = 500

export interface Asked {
  readonly action: Action
  readonly target: Target
  readonly query: string
}

export interface Ordered extends Asked {
  readonly rate: number | null
  readonly reason: string | null
  /** Of a pause: what happens to times meanwhile. Default `stop`. */
  readonly timeouts?: PausedTimeouts | null
  /** `everything`: a search without filters is meant. */
  readonly confirm: string | null
}

export interface Preview {
  readonly action: Action
  readonly target: Target
  /** In its canonical form. */
  readonly query: string
  readonly count: number
  /** There are more than were counted. */
  readonly more: boolean
  readonly everything: boolean
  readonly instances: readonly InstanceRow[]
  readonly runs: readonly RunRow[]
  /** Among the newest that were examined: why they would be refused, the most frequent reason first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[]
  readonly examined: number
}

export const previewBulkOperation = operation(ORDERING, (use, asked: Asked): Promise<Preview> => {
  checkAction(asked)
  return preview(use, asked, searchOf(asked))
})

export const orderBulkOperation = operation(ORDERING, async (use, asked: Ordered): Promise<Operation> => {
  checkAction(asked)
  checkRate(asked.rate)
  if (asked.timeouts != null && asked.action !== 'pause') {
    throw wrong(`timeouts belong to a pause, not to ${asked.action}`, { field: 'timeouts', hint: 'Leave them out.' })
  }
  const search = searchOf(asked)
  if (matchesEverything(search) && asked.confirm !== 'everything') {
    const { count, more } = await preview(use, asked, search)
    throw unconfirmed(asked.target, count, more)
  }
  const { action, target, rate, reason } = asked
  const { engine, caller } = use
  const about = { tenant: caller.tenant, actor: actorOf(caller), reason, rate }
  return engine.bulk.create({ ...about, action, target, query: printSearch(search), parameters: parametersOf(asked) })
})

export function checkRate(rate: number | null): void {
  if (rate === null || (Number.isSafeInteger(rate) && rate >= 1 && rate <= MAX_BULK_RATE)) return
  throw wrong(`rate_per_minute must be a whole number from 1 to ${MAX_BULK_RATE}, not ${rate}`, {
    field: 'rate_per_minute',
    hint: 'Leave it out for no limit.',
  })
}

function checkAction({ action, target }: Asked): void {
  if (ACTIONS[target].includes(action)) return
  const [other] = Object.entries(ACTIONS).find(([, actions]) => actions.includes(action)) ?? []
  const instead = `An action on ${target} is one of ${ACTIONS[target].join(', ')}.`
  const hint = other === undefined ? instead : `It acts on ${other}. ${instead}`
  throw wrong(`${action} does not act on ${target}`, { field: 'action', hint })
}

function searchOf({ target, query }: Asked): Search {
  return target === 'runs' ? parseRunSearch(query) : parseInstanceSearch(query)
}

/** A cancel is what the notation of the instance means by it: completed work stays, or is undone. */
function parametersOf({ action, target, timeouts }: Ordered): OperationParameters {
  if (action === 'pause') return { timeouts: timeouts ?? 'stop' }
  if (action !== 'cancel' || target !== 'instances') return {}
  return { undo: NOTATIONS.filter(({ project }) => project.cancel === 'undo').map(({ name }) => name) }
}

async function preview(use: Use, { action, target }: Asked, search: Search): Promise<Preview> {
  const { queries } = use.engine
  const { tenant } = use.caller
  const page = { tenant, limit: EXAMINED, before: null }
  const shape = { action, target, query: printSearch(search), everything: matchesEverything(search) }
  if (search.of === 'runs') {
    const [found, counts] = await Promise.all([
      queries.search.runs({ ...page, search, maxBytes: 0 }),
      queries.search.runCounts({ search, tenant }),
    ])
    const seen = seenIn(found, (row) => refusalOfRun(action, row))
    return { ...shape, ...totalOf(counts, found), ...seen, runs: found.rows.slice(0, EXAMPLES), instances: [] }
  }
  const [found, counts] = await Promise.all([
    queries.search.instances({ ...page, search }),
    queries.search.instanceCounts({ search, tenant }),
  ])
  const seen = seenIn(found, (row) => refusalOfInstance(action, row))
  return { ...shape, ...totalOf(counts, found), ...seen, instances: found.rows.slice(0, EXAMPLES), runs: [] }
}

function totalOf(counts: readonly CountedState[], { rows }: Found<unknown>): Pick<Preview, 'count' | 'more'> {
  const count = counts.reduce((sum, one) => sum + one.count, 0)
  return { count: Math.max(count, rows.length), more: counts.some(({ more }) => more) }
}

function seenIn<R>({ rows }: Found<R>, refusal: (row: R) => string | null): Pick<Preview, 'refusals' | 'examined'> {
  const reasons = new Map<string, number>()
  for (const row of rows) {
    const reason = refusal(row)
    if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  const refusals = [...reasons].map(([reason, count]) => ({ reason, count }))
  return { refusals: refusals.sort((a, b) => b.count - a.count), examined: rows.length }
}

function unconfirmed(target: Target, count: number, more: boolean): PetrelError {
  return wrong(`this search has no filter and finds everything: ${count}${more ? ' or more' : ''} ${target}`, {
    field: 'confirm',
    count,
    count_is_at_least: more,
    hint: 'Add a filter, or confirm with "confirm": "everything" (petrel bulk: --confirm everything).',
  })
}

function wrong(message: string, details: ErrorDetails): PetrelError {
  return new PetrelError('invalid_request', message, details)
}
