/** RunRow ↔ workflow_run. */

import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import { RUN } from '../../../model/rows.ts'
import { ALWAYS_BYTES } from '../../../model/shown.ts'
import { shownJson } from '../shown.ts'
import { namesOf, rowReader, selectOf } from './reader.ts'

export const RUN_CELLS = selectOf(RUN)
export const runOf = rowReader(RUN)

/** Values that may be long. */
const LONG: readonly string[] = ['payload', 'result', 'error', 'meta']

/** Runs in this order; their long values until the sum exceeds `maxBytes`. Only sizes are read of the others. */
export function shownRuns(params: {
  readonly where: string
  readonly order: string
  readonly page: string
  readonly maxBytes: number
}): string {
  const { where, order, page, maxBytes } = params
  const size = LONG.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ')
  const columns = namesOf(RUN).map((name) => {
    if (name === 'last_error') return `substr(last_error, 1, ${MAX_SHOWN_CHARACTERS}) AS last_error`
    if (!LONG.includes(name)) return name
    return `${shownJson(name, `(shown_size <= ${maxBytes} OR octet_length(${name}) <= ${ALWAYS_BYTES})`)} AS ${name}`
  })
  const sizes = `SELECT id, created_at, run_at, priority, node, fire, item, role, ${size} AS size FROM workflow_run ${where} ORDER BY ${order} ${page}`
  return `SELECT ${RUN_CELLS} FROM (SELECT ${columns.join(', ')} FROM (
    SELECT id AS shown_id, sum(size) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (${sizes}))
    JOIN workflow_run ON id = shown_id) ORDER BY ${order}`
}
