/**
 * Who executed: the worker of each event of a run, and of the last execution of a step. The lease of a session is recorded
 * with another event of the run, so the event itself often does not name the worker.
 */
import type { Queries } from '../../model/queries/queries.ts'
import type { InstanceRow, StoredEvent } from '../../model/rows.ts'
import { lastWorker, workersOf } from './segments.ts'
import { transitionsOf } from './timeline.ts'

/** Events of an execution. */
const EXECUTIONS: ReadonlySet<string> = new Set([
  'created',
  'leased',
  'started',
  'deferred',
  'succeeded',
  'failed',
  'cancelled',
  'retried',
  'returned',
])

/** By id of the event; events that no worker caused are left out. */
export async function workersAt(
  queries: Queries,
  instance: InstanceRow,
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>()
  const asked = events.filter(({ runId, type }) => runId !== null && EXECUTIONS.has(type))
  const unnamed = new Set<string>()
  for (const event of asked) {
    const named = workersOf([event]).get(event.id)
    if (named !== undefined) found.set(event.id, named)
    else if (event.type !== 'created') unnamed.add(event.runId as string)
  }
  const runs = [...unnamed].map((id) => ({ id }))
  const histories = runs.length === 0 ? [] : (await transitionsOf(queries, instance, runs)).values()
  const wanted = new Set(asked.map(({ id }) => id))
  for (const history of histories) {
    for (const [id, worker] of workersOf(history.events)) if (wanted.has(id)) found.set(id, worker)
  }
  return found
}

interface Executed {
  readonly run: { readonly id: string; readonly leasedBy: string | null } | null
}

/** By id of the run. */
export async function lastWorkers(
  queries: Queries,
  instance: InstanceRow,
  steps: readonly Executed[],
): Promise<ReadonlyMap<string, string>> {
  const runs = steps.flatMap(({ run }) => run ?? [])
  const histories = runs.length === 0 ? new Map() : await transitionsOf(queries, instance, runs)
  return new Map(
    runs.flatMap((run): [string, string][] => {
      const worker = lastWorker(run, histories.get(run.id)?.events ?? [])
      return worker === null ? [] : [[run.id, worker]]
    }),
  )
}
