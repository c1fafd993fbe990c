/** The slots and results of an instance. */
import type { ResultAt, ResultText } from '../../../model/queries/firings.ts'
import type { ExecutionQueries } from '../../../model/queries/queries.ts'
import type { SlotRow } from '../../../model/rows.ts'
import { ALWAYS_BYTES } from '../../../model/shown.ts'
import * as column from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes, ReadLanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { resultFrom, resultValues } from '../load/firings.ts'
import { RESULTS, RESULTS_AT } from '../load/plain.ts'

const SLOTS = statement(
  `SELECT s.instance_id, s.key, s.value FROM workflow.workflow_slot s
   WHERE s.instance_id = $1::uuid AND s.key >= $2::text AND s.key < $2::text || chr(1114111) ORDER BY s.key`,
)
const SHOWN_SLOTS = statement(
  `SELECT s.instance_id, s.key, CASE WHEN s.size <= $3::bigint OR octet_length(s.value) <= ${ALWAYS_BYTES} THEN s.value
     ELSE '{"$omitted":{"bytes":' || octet_length(s.value) || '}}' END
   FROM (SELECT s.*, sum(octet_length(s.value)) OVER (ORDER BY s.key ROWS UNBOUNDED PRECEDING) AS size FROM (
     SELECT s.instance_id, s.key, s.value::text AS value FROM workflow.workflow_slot s
     WHERE s.instance_id = $1::uuid AND s.key >= $2::text AND s.key < $2::text || chr(1114111)) s) s
   ORDER BY s.key`,
)
const SHOWN_RESULTS = statement(
  `SELECT r.at, CASE WHEN r.text IS NULL OR r.size <= $3::bigint OR octet_length(r.text) <= ${ALWAYS_BYTES} THEN r.text
     ELSE '{"$omitted":{"bytes":' || octet_length(r.text) || '}}' END
   FROM (SELECT r.*, sum(octet_length(r.text)) OVER (ORDER BY r.at ROWS UNBOUNDED PRECEDING) AS size
     FROM (${RESULTS.text}) r(at, text, fire)) r`,
)
const SLOT = statement(
  'SELECT s.value FROM workflow.workflow_slot s WHERE s.instance_id = $1::uuid AND s.key = $2::text',
)

const slotFrom = column.decoder(column.SLOT)

export class MarkingReads {
  readonly #lanes: Lanes
  readonly #views: Lanes

  constructor({ reads, views }: Pick<ReadLanes, 'reads' | 'views'>) {
    this.#lanes = reads
    this.#views = views
  }

  slots({ instanceId, prefix, maxBytes }: Parameters<ExecutionQueries['slots']>[0]): Promise<readonly SlotRow[]> {
    if (maxBytes === undefined) {
      return ask(this.#lanes, { statement: SLOTS, values: [instanceId, prefix], row: slotFrom })
    }
    return ask(this.#views, { statement: SHOWN_SLOTS, values: [instanceId, prefix, String(maxBytes)], row: slotFrom })
  }

  slot({ instanceId, key }: { readonly instanceId: string; readonly key: string }): Promise<string | null> {
    return askOne(this.#lanes, { statement: SLOT, values: [instanceId, key], row: (fields) => fields[0] as string })
  }

  async results(params: Parameters<ExecutionQueries['results']>[0]): Promise<ReadonlyMap<string, string | null>> {
    const { instanceId, nodes, maxBytes } = params
    if (nodes.length === 0) return new Map()
    const row = (fields: Fields): [string, string | null] => [
      `${instanceId}/${nodes[Number(fields[0]) - 1]}`,
      fields[1] as string | null,
    ]
    const values = [uuidArray(nodes.map(() => instanceId)), textArray(nodes)]
    if (maxBytes === undefined) return new Map(await ask(this.#lanes, { statement: RESULTS, values, row }))
    values.push(String(maxBytes))
    return new Map(await ask(this.#views, { statement: SHOWN_RESULTS, values, row }))
  }

  resultAt(wanted: ResultAt): Promise<ResultText> {
    return askOne(this.#lanes, { statement: RESULTS_AT, values: resultValues([wanted]), row: resultFrom })
  }
}
