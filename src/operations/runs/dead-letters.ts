/** Dead letters: runs that failed for good and are kept until a person decides about them. */
import { PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import { MAX_COUNTED } from '../../kernel/limits.ts'
import type { RunRow } from '../../model/rows.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import type { Failure } from '../../net/marking.ts'
import { actorOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'

/** More are counted, but not read. */
const MOST_SORTED = 1_000

interface ById {
  readonly id: string
}

export const showDeadLetter = operation({ scope: 'read' }, (use, { id }: ById): Promise<RunRow> => find(use, id))

/** It is pending again, at its first attempt. */
export const retryDeadLetter = operation({ scope: 'admin' }, async (use, { id }: ById): Promise<RunRow> => {
  const { id: runId } = await find(use, id)
  return use.engine.redrive({ runId, actor: actorOf(use.caller) })
})

/** Removes it for good. */
export const dismissDeadLetter = operation({ scope: 'admin' }, async (use, { id: name }: ById): Promise<ById> => {
  const { id } = await find(use, name)
  await use.engine.dismiss({ id, actor: actorOf(use.caller) })
  return { id }
})

export interface DeadLetterCounts {
  /** Up to MAX_COUNTED. */
  readonly total: number
  /** null: there are too many to read them. */
  readonly groups: DeadLetterGroups | null
}

export interface DeadLetterGroups {
  readonly byQueue: Counts
  readonly byType: Counts
  readonly byError: Counts
  /** When the first and the last of them failed. */
  readonly oldestAt: number | null
  readonly newestAt: number | null
}

type Counts = { readonly [word: string]: number }

export const countDeadLetters = operation(
  { scope: 'read', shared: true },
  async ({ engine: { queries }, caller: { tenant } }, _: null): Promise<DeadLetterCounts> => {
    const about = { status: null, queue: null, type: null, deadLetter: true, tenant }
    const query = { ...about, limit: MOST_SORTED, before: null, maxBytes: PAGE_BYTES }
    const total = await queries.countListedRuns(query, MAX_COUNTED)
    if (total > MOST_SORTED) return { total, groups: null }
    const runs = await queries.listRuns(query)
    const times = runs.flatMap(({ finishedAt }) => finishedAt ?? [])
    const groups = {
      byQueue: countBy(runs, ({ queue }) => queue),
      byType: countBy(runs, ({ type }) => type),
      byError: countBy(runs, errorType),
      oldestAt: times.length === 0 ? null : Math.min(...times),
      newestAt: times.length === 0 ? null : Math.max(...times),
    }
    return { total: runs.length, groups }
  },
)

async function find({ engine, caller }: Use, given: string): Promise<RunRow> {
  const id = readId(given)
  const run = id === null ? null : await engine.queries.run(id)
  if (run?.deadLetter === true && maySee(caller, run)) return run
  throw new PetrelError('not_found', `there is no dead letter ${given}`, {
    kind: 'dead letter',
    id: given,
    hint: 'Only jobs whose retry policy says on_exhaustion "dead_letter" are kept; GET /ojs/v1/dead-letter lists them.',
  })
}

function errorType(run: RunRow): string {
  if (run.error === null) return 'unknown'
  const { type, code } = JSON.parse(run.error) as Failure
  return type ?? code ?? 'unknown'
}

function countBy(runs: readonly RunRow[], wordOf: (run: RunRow) => string): Counts {
  const counts = new Map<string, number>()
  for (const run of runs) counts.set(wordOf(run), (counts.get(wordOf(run)) ?? 0) + 1)
  return Object.fromEntries(counts)
}
