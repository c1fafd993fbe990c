/** Pauses: reading and listing. They are stored in `transact`; sweep/parking.ts parks and releases what waits. */
import type { PauseRow, Pauses } from '../../../model/pauses/pauses.ts'
import { decoder, PAUSE, selectList } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parkOrRelease } from '../sweep/parking.ts'

export const pauseFrom: (fields: Fields) => PauseRow = decoder(PAUSE)

const READ = `SELECT ${selectList(PAUSE, 'p')} FROM workflow.workflow_pause p`
const GET = statement(`${READ} WHERE p.kind = $1 AND p.key = $2`)
const BEFORE = '($2::float8 IS NULL OR (p.paused_at, p.key) < (to_timestamp($2::float8 / 1000), $3::text))'
const NEWEST = 'ORDER BY p.paused_at DESC, p.key DESC LIMIT $1::int4'
const LIST = statement(`${READ} WHERE ${BEFORE} ${NEWEST}`)
const LIST_OF_TENANT = statement(`${READ} WHERE p.tenant = $4 AND ${BEFORE} ${NEWEST}`)
const UNFINISHED = statement(
  `SELECT p.key FROM workflow.workflow_pause p WHERE p.state <> 'paused' AND p.kind = 'instance' ORDER BY p.key LIMIT $1::int4`,
)

export function pausesOn({ reads, timers }: { readonly reads: Lanes; readonly timers: Lanes }): Pauses {
  return {
    get: ({ kind, key }) => askOne(reads, { statement: GET, values: [kind, key], row: pauseFrom }),
    list: ({ tenant, limit, before }) => {
      const page = [String(limit), before === null ? null : String(before.pausedAt), before?.key ?? null]
      if (tenant === null) return ask(reads, { statement: LIST, values: page, row: pauseFrom })
      return ask(reads, { statement: LIST_OF_TENANT, values: [...page, tenant], row: pauseFrom })
    },
    unfinished: ({ limit }) =>
      ask(timers, { statement: UNFINISHED, values: [String(limit)], row: ([key]) => ({ id: key as string }) }),
    portion: (params) => parkOrRelease(timers, params),
  }
}
