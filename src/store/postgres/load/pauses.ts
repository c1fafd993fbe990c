/** Pauses that a transaction asks for by their keys. */
import { type PauseKey, type PauseRow, pauseName } from '../../../model/pauses/pauses.ts'
import { decoder, PAUSE, selectList } from '../columns.ts'
import { textArray } from '../connection/batch.ts'
import { type Call, statement } from '../connection/statement.ts'

const pauseFrom = decoder(PAUSE)
const PAUSES = statement(
  `SELECT ${selectList(PAUSE, 'p')} FROM unnest($1::text[], $2::text[]) n(kind, key)
   JOIN workflow.workflow_pause p ON p.kind = n.kind AND p.key = n.key`,
)

export function pausesCall(keys: readonly PauseKey[], into: Map<string, PauseRow>): Call {
  return {
    statement: PAUSES,
    values: [textArray(keys.map(({ kind }) => kind)), textArray(keys.map(({ key }) => key))],
    row: (fields) => {
      const pause = pauseFrom(fields)
      into.set(pauseName(pause), pause)
    },
  }
}
