/**
 * The global feed follows ids, but ids are taken before their transaction commits: a later id may be visible while an
 * earlier one is not yet. So a reader only advances as far as the feed is known to be complete:
 *
 *   1 read the sequence: `last`. Every id up to it was taken by a transaction that holds, until it ends, a lock on
 *     workflow_event (any INSERT takes one before its first id).
 *   2 read which transactions hold such a lock now. Those that begin to write later get ids beyond `last`.
 *   3 when all of those have ended, everything up to `last` is decided.
 *
 * Writers take a few milliseconds, so 3 is waited for, briefly. Behind a writer that stays longer the feed stops at
 * the last id known complete. Nothing is written or locked for this, and writers never wait.
 */
import { sleep } from '../../../kernel/sleep.ts'
import type { EventPage, EventQuery } from '../../../model/queries/queries.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import { ask, askOne } from '../connection/ask.ts'
import { textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { Conditions } from './conditions.ts'
import { EventRows, eventPageText } from './event.ts'

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
  eventPageText(
    'SELECT * FROM workflow.workflow_event e WHERE e.id > $1::bigint AND e.id <= $2::bigint ORDER BY e.id LIMIT $3::int',
    'e.id',
  ),
)

const FIRST = statement('SELECT min(e.id) FROM workflow.workflow_event e WHERE e.id > $1::bigint')

const PATIENCE_MS = 250
/**
 * Ids a filtered page reads: a call must also end if the filter matches nothing, and report its position. The events of
 * one run have an index, so all of them are read.
 */
const LOOKED_AT = 20_000

export class Feed {
  readonly #lanes: Lanes
  readonly #lists: Lanes
  /** Every event up to this id is decided. */
  #complete = 0

  constructor({ reads, lists }: { readonly reads: Lanes; readonly lists: Lanes }) {
    this.#lanes = reads
    this.#lists = lists
  }

  async read(params: { readonly afterId: number; readonly limit: number }): Promise<readonly StoredEvent[]> {
    const seen = await this.#events(params, this.#complete)
    if (seen.cut || seen.events.length >= params.limit) return seen.events
    await this.#advance()
    return (await this.#events(params, this.#complete)).events
  }

  /** As `read`, with a filter. Events since the last look are only read when nothing else is left. */
  async page(query: EventQuery): Promise<EventPage> {
    const known = this.#complete
    const seen = await this.#page(query)
    if (seen.more) return seen
    await this.#advance()
    if (this.#complete === known) return seen
    // Full up to the last known id: newer events belong to the next page, and `more` must announce them.
    return seen.events.length >= query.limit ? { ...seen, more: true } : this.#page(query)
  }

  async #page(query: EventQuery): Promise<EventPage> {
    // Events removed by retention are skipped.
    const first = (await this.#first(query.afterId)) ?? query.afterId + 1
    const from = Math.max(query.afterId, Math.min(first - 1, this.#complete))
    const until = query.runId ? this.#complete : Math.min(this.#complete, from + LOOKED_AT)
    if (until <= from) return { events: [], cursor: Math.max(from, query.afterId), more: false }
    const where = conditionsOf(query, from, until)
    const runs =
      (query.queues ?? query.runTypes ?? null) === null ? '' : 'JOIN workflow.workflow_run r ON r.id = e.workflow_id'
    const select = `SELECT e.* FROM workflow.workflow_event e ${runs} ${where.text()}
      ORDER BY e.id LIMIT ${where.value(String(query.limit))}::int`
    const found = new EventRows()
    const text = eventPageText(select, 'e.id')
    await ask(this.#lists, { statement: statement(text), values: where.values, row: found.row })
    const { events, cut } = found
    const cursor = events.length < query.limit && !cut ? until : (events.at(-1) as StoredEvent).id
    return { events, cursor, more: cursor < this.#complete }
  }

  async end(): Promise<number> {
    await this.#advance()
    return this.#complete
  }

  async start(): Promise<number> {
    return (await this.#first(0)) ?? 0
  }

  #first(afterId: number): Promise<number | null> {
    const row = (fields: Fields): number | null => (fields[0] ? Number(fields[0]) : null)
    return askOne(this.#lanes, { statement: FIRST, values: [String(afterId)], row })
  }

  async #events(params: { readonly afterId: number; readonly limit: number }, untilId: number): Promise<EventRows> {
    const found = new EventRows()
    if (untilId <= params.afterId) return found
    const values = [String(params.afterId), String(untilId), String(params.limit)]
    await ask(this.#lanes, { statement: EVENTS, values, row: found.row })
    return found
  }

  async #advance(): Promise<void> {
    const text = (fields: readonly (string | null)[]): string => fields[0] as string
    const last = Number(await askOne(this.#lanes, { statement: LAST, row: text }))
    if (last <= this.#complete) return
    let writers = await ask(this.#lanes, { statement: WRITERS, row: text })
    for (let waited = 0; writers.length > 0 && waited < PATIENCE_MS; waited += 5) {
      await sleep(5)
      writers = await ask(this.#lanes, { statement: STILL_WRITING, values: [textArray(writers)], row: text })
    }
    if (writers.length === 0) this.#complete = Math.max(this.#complete, last)
  }
}

function conditionsOf(query: EventQuery, from: number, until: number): Conditions {
  const where = new Conditions()
  where.add((n) => `e.id > ${n}::bigint`, String(from))
  where.add((n) => `e.id <= ${n}::bigint`, String(until))
  if (query.types) where.add((n) => `e.event_type = ANY (${n}::text[])`, textArray(query.types))
  if (query.tenant) where.add((n) => `e.tenant = ${n}`, query.tenant)
  if (query.runId) where.addId((n) => `e.workflow_id = ${n}::uuid`, query.runId)
  if (query.instanceId) where.addId((n) => `e.instance_id = ${n}::uuid`, query.instanceId)
  if (query.queues) where.add((n) => `r.queue = ANY (${n}::text[])`, textArray(query.queues))
  if (query.runTypes) where.add((n) => `r.type = ANY (${n}::text[])`, textArray(query.runTypes))
  return where
}
