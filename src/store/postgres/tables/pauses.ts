/** Pauses: reading and listing. They are stored in `transact`; sweep/parking.ts parks and releases what waits. */
import type { PauseKind, PauseRow, Pauses } from '../../../model/pauses/pauses.ts'
import { decoder, PAUSE, selectList } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { parkOrRelease } from '../sweep/parking.ts'
import { releaseType } from '../sweep/release-type.ts'

export const pauseFrom: (fields: Fields) => PauseRow = decoder(PAUSE)

const READ = `SELECT ${selectList(PAUSE, 'p')} FROM workflow.workflow_pause p`
const GET = statement(`${READ} WHERE p.kind = $1 AND p.key = $2`)
const BEFORE = '($2::float8 IS NULL OR (p.paused_at, p.key) < (to_timestamp($2::float8 / 1000), $3::text))'
const NEWEST = 'ORDER BY p.paused_at DESC, p.key DESC LIMIT $1::int4'
const LIST = statement(`${READ} WHERE ${BEFORE} ${NEWEST}`)
const LIST_OF_TENANT = statement(`${READ} WHERE p.tenant = $4 AND ${BEFORE} ${NEWEST}`)
const UNFINISHED = statement(
  `SELECT p.kind, p.key FROM workflow.workflow_pause p WHERE p.state <> 'paused' ORDER BY p.key LIMIT $1::int4`,
)
const COUNT_RULES = statement(`SELECT count(*) FROM workflow.workflow_pause p WHERE p.kind IN ('definition', 'type')`)
/** From one owner to the next: however many runs each has. */
const PARKED_TYPES = statement(
  `WITH RECURSIVE owner(name) AS (
     (SELECT k.owner FROM workflow.workflow_parked k WHERE k.owner >= 'type:' AND k.owner < 'type;' ORDER BY k.owner LIMIT 1)
     UNION ALL
     SELECT n.owner FROM owner o CROSS JOIN LATERAL (
       SELECT k.owner FROM workflow.workflow_parked k WHERE k.owner > o.name AND k.owner < 'type;' ORDER BY k.owner LIMIT 1) n
   )
   SELECT substr(o.name, 6) FROM owner o WHERE NOT EXISTS (
     SELECT FROM workflow.workflow_pause p WHERE p.kind = 'type' AND p.key = substr(o.name, 6)) LIMIT $1::int4`,
)

const PLANNED = statement(
  `SELECT k.id, k.run_at FROM unnest($1::text[], $2::uuid[]) n(owner, id)
   JOIN workflow.workflow_parked k ON k.owner = n.owner AND k.id = n.id WHERE k.run_at IS NOT NULL`,
)

export async function plannedTimes(
  lanes: Lanes,
  parked: readonly { readonly owner: string; readonly id: string }[],
): Promise<ReadonlyMap<string, number>> {
  const values = [textArray(parked.map(({ owner }) => owner)), uuidArray(parked.map(({ id }) => id))]
  const row = ([id, at]: Fields): [string, number] => [id as string, parseTime(at as string)]
  return new Map(await ask(lanes, { statement: PLANNED, values, row }))
}

export function pausesOn({ reads, timers }: { readonly reads: Lanes; readonly timers: Lanes }): Pauses {
  return {
    get: ({ kind, key }) => askOne(reads, { statement: GET, values: [kind, key], row: pauseFrom }),
    list: ({ tenant, limit, before }) => {
      const page = [String(limit), before === null ? null : String(before.pausedAt), before?.key ?? null]
      if (tenant === null) return ask(reads, { statement: LIST, values: page, row: pauseFrom })
      return ask(reads, { statement: LIST_OF_TENANT, values: [...page, tenant], row: pauseFrom })
    },
    unfinished: ({ limit }) =>
      ask(timers, {
        statement: UNFINISHED,
        values: [String(limit)],
        row: ([kind, key]) => ({ kind: kind as PauseKind, key: key as string }),
      }),
    parkedTypes: ({ limit }) =>
      ask(timers, { statement: PARKED_TYPES, values: [String(limit)], row: ([type]) => type as string }),
    releaseType: (params) => releaseType(timers, params),
    countRules: async () => (await askOne(reads, { statement: COUNT_RULES, row: ([count]) => Number(count) })) ?? 0,
    portion: (params) => parkOrRelease(timers, params),
  }
}
