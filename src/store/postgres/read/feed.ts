/**
 * The global feed follows ids, but ids are taken before their transaction commits: a later id may be visible while an
 * earlier one is not yet. So a reader goes only as far as is known to be complete:
 *
 *   1 read the sequence: `last`. Every id up to it was taken by a transaction that holds, until it ends, a lock on
 *     workflow_event (any INSERT takes one before its first id).
 *   2 read who holds such a lock now. Transactions that begin to write later get ids beyond `last`.
 *   3 when all of those have ended, everything up to `last` is decided.
 *
 * Writers take a few milliseconds, so 3 is waited for, briefly. Behind a writer that stays longer the feed stops at
 * the last id known complete. Nothing is written or locked for this, and writers never wait.
 */
import type { StoredEvent } from '../../rows.ts'
import { ask, askOne } from '../ask.ts'
import { textArray } from '../batch.ts'
import type { Lanes } from '../lanes.ts'
import { statement } from '../statement.ts'
import { EVENT_COLUMNS, eventFrom } from './event.ts'

const WRITER = `l.locktype = 'relation' AND l.relation = 'workflow.workflow_event'::regclass AND l.mode = 'RowExclusiveLock'
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AND l.granted`

const LAST = statement(
  'SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM workflow.workflow_event_id_seq s',
)
const WRITERS = statement(`SELECT DISTINCT l.virtualtransaction FROM pg_locks l WHERE ${WRITER}`)
const STILL_WRITING = statement(
  `SELECT DISTINCT l.virtualtransaction FROM pg_locks l WHERE ${WRITER} AND l.virtualtransaction = ANY ($1::text[])`,
)
const EVENTS = statement(
  `SELECT ${EVENT_COLUMNS} FROM workflow.workflow_event e WHERE e.id > $1::bigint AND e.id <= $2::bigint ORDER BY e.id LIMIT $3::int`,
)

const PATIENCE_MS = 250

export class Feed {
  readonly #lanes: Lanes
  /** Every event up to this id is decided. */
  #complete = 0

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  async read(params: { readonly afterId: number; readonly limit: number }): Promise<readonly StoredEvent[]> {
    const seen = await this.#events(params, this.#complete)
    if (seen.length >= params.limit) return seen
    await this.#advance()
    return this.#events(params, this.#complete)
  }

  #events(params: { readonly afterId: number; readonly limit: number }, untilId: number): Promise<StoredEvent[]> {
    if (untilId <= params.afterId) return Promise.resolve([])
    const values = [String(params.afterId), String(untilId), String(params.limit)]
    return ask(this.#lanes, { statement: EVENTS, values, row: eventFrom })
  }

  async #advance(): Promise<void> {
    const text = (fields: readonly (string | null)[]): string => fields[0] as string
    const last = Number(await askOne(this.#lanes, { statement: LAST, row: text }))
    if (last <= this.#complete) return
    let writers = await ask(this.#lanes, { statement: WRITERS, row: text })
    for (let waited = 0; writers.length > 0 && waited < PATIENCE_MS; waited += 5) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      writers = await ask(this.#lanes, { statement: STILL_WRITING, values: [textArray(writers)], row: text })
    }
    if (writers.length === 0) this.#complete = Math.max(this.#complete, last)
  }
}
