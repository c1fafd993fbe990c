/**
 * Does the database accept writes? An update in place would prove little: on a full disk it succeeds long after inserts
 * have begun to fail. So the table grows by 64 KiB, and the rows are rolled back; vacuum returns the space.
 */
import { toStoreError } from './connection/failure.ts'
import { fly } from './connection/flight.ts'
import type { Lanes } from './connection/lanes.ts'
import { type Call, statement } from './connection/statement.ts'

const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const INSERT: Call = {
  statement: statement(
    `INSERT INTO workflow.workflow_probe (value) SELECT repeat(md5(n::text), 59) FROM generate_series(1, 34) n`,
  ),
  values: [],
}
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

export async function probeWrite(lanes: Lanes): Promise<void> {
  try {
    await lanes.use(async (lane) => {
      try {
        await fly(lane.client, [BEGIN, INSERT])
      } finally {
        if (!lane.lost) await fly(lane.client, [ROLLBACK])
      }
    })
  } catch (error) {
    throw toStoreError(error)
  }
}
