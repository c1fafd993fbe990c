/** A run that failed for good is done again in a workflow that continues (net/firing/take-back.ts). */
import { runError } from '../../kernel/errors.ts'
import type { Queries } from '../../model/queries/queries.ts'
import type { RunRow } from '../../model/rows.ts'
import { MissingFact } from '../../net/firing/draft.ts'
import { type Again, OBSTACLES, type Obstacle, obstacleTo } from '../../net/firing/take-back.ts'
import type { NetEventData } from '../../net/marking.ts'
import { factsOf } from '../fold/facts.ts'
import { happen } from '../fold/happenings.ts'
import { memberOf } from '../fold/members.ts'
import { NeedMore, needOf } from '../fold/need.ts'
import { findRun } from '../fold/run/changed-runs.ts'
import { prepareRedrive } from '../fold/run/redrives.ts'
import { placeOf } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'

const RETRY = 'When its workflow has ended, retry it from this step.'

const HINTS: { readonly [O in Obstacle]: string } = {
  not_work: RETRY,
  ending: RETRY,
  appealed: 'Approve the gate of its appeal.',
  moving: 'Try again in a moment.',
  list_ended: RETRY,
  list_stopped: RETRY,
  routed: RETRY,
  joined: RETRY,
  arguments: RETRY,
}

export function redriveInPlace(change: WorkingSet, row: RunRow, actor: string | null, deadEnd: boolean): RunRow {
  const id = row.instanceId as string
  const again: Again = { place: placeOf(row), deadEnd }
  const obstacle = obstacleIn(change, id, again)
  if (obstacle !== null) {
    const facts = { status: row.status, expected: 'failed', obstacle, hint: HINTS[obstacle] }
    throw runError('conflict', row.id, `cannot be done again in place: ${OBSTACLES[obstacle]}`, facts)
  }
  prepareRedrive(change, row, {}, actor)
  happen(change, id, { kind: 'again', ...again })
  return findRun(change, row.id) as RunRow
}

function obstacleIn(change: WorkingSet, id: string, again: Again): Obstacle | null {
  const member = memberOf(change, id)
  const evaluate = change.deps.evaluators.of(member.net.net.dialect).at(change.now)
  try {
    return obstacleTo(member.net, member.row, factsOf(change, member), evaluate, again)
  } catch (error) {
    if (error instanceof MissingFact) throw new NeedMore(needOf(id, error.missing))
    throw error
  }
}

/** Events between the end of a run and the record of where its token went. */
const NEAR = 20

/** Whether the history records that none of its arcs was taken. Only some nets record that; others answer false. */
export async function endedNowhere(queries: Queries, runId: string): Promise<boolean> {
  const run = await queries.run(runId)
  if (run === null || run.instanceId === null || run.doneSeq === null || run.status === 'succeeded') return false
  const { instanceId, doneSeq: afterSeq, node, fire } = run
  for (const event of await queries.instanceEvents({ instanceId, afterSeq, limit: NEAR })) {
    if (event.type !== 'node.routed' || event.node !== node || event.data === null) continue
    const routed = JSON.parse(event.data) as NetEventData['node.routed']
    if (routed.fire === fire) return routed.taken.length === 0
  }
  return false
}
