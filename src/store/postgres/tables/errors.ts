/** Groups of failures. Failures are counted under a lock of their own: one process at a time, in one transaction. */
import type pg from 'pg'
import { MAX_SEARCHED } from '../../../kernel/limits.ts'
import { byFingerprint, changed, counted, holdersOf, withBuilds } from '../../../model/errors/count.ts'
import {
  changeEvent,
  cursorOf,
  type ErrorGroupPage,
  type ErrorGroupQuery,
  type ErrorGroupRow,
  type ErrorGroups,
  type FailureRow,
} from '../../../model/errors/groups.ts'
import { eventRow } from '../../../model/events/events.ts'
import * as column from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { inserter, textArray, upserter, uuidArray } from '../connection/batch.ts'
import { toStoreError } from '../connection/failure.ts'
import { fly } from '../connection/flight.ts'
import type { Lanes, ReadLanes } from '../connection/lanes.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'
import type { Probe } from '../transact.ts'

const GROUPS = `SELECT ${column.selectList(column.ERROR_GROUP, 'g')} FROM workflow.workflow_error_group g`
const ANY = statement('SELECT 1 FROM workflow.workflow_failure LIMIT 1')
/** A number that no other lock of Petrel has; with the schema in its name. */
const LOCK = "hashtext('workflow.workflow_error_group')"
const TRY_LOCK = statement(`SELECT pg_try_advisory_xact_lock(${LOCK})`)
const WAIT_LOCK = statement(`SELECT pg_advisory_xact_lock(${LOCK})`)
const UNCOUNTED = statement(
  `SELECT ${column.selectList(column.FAILURE, 'f')} FROM workflow.workflow_failure f ORDER BY f.id LIMIT $1::int`,
)
const OF_FAILURES = statement(`${GROUPS} WHERE g.fingerprint = ANY ($1::text[]) ORDER BY g.fingerprint FOR UPDATE`)
const BUILDS = statement(
  'SELECT w.id, w.build FROM workflow.workflow_worker w WHERE w.id = ANY ($1::text[]) AND w.build IS NOT NULL',
)
const REMOVE = statement('DELETE FROM workflow.workflow_failure f WHERE f.id = ANY ($1::uuid[])')
const OF_TENANT = `($2::text IS NULL OR g.tenant IS NOT DISTINCT FROM nullif($2::text, ''))`
const ONE = statement(`${GROUPS} WHERE g.fingerprint = $1::text AND ${OF_TENANT}`)
const ONE_LOCKED = statement(`${GROUPS} WHERE g.fingerprint = $1::text AND ${OF_TENANT} FOR UPDATE`)
const CLOCK = statement('SELECT (extract(epoch FROM workflow.clock()) * 1000)::bigint')

const NEWEST = `FROM workflow.workflow_error_group g WHERE ($1::text IS NULL OR g.tenant IS NOT DISTINCT FROM nullif($1::text, ''))
  AND ($2::bigint IS NULL OR (g.last_at, g.fingerprint) < ('epoch'::timestamptz + $2::bigint * interval '1 millisecond', $3::text))
  ORDER BY g.last_at DESC, g.fingerprint DESC`
const TEXTS = "concat_ws(' ', g.type, g.code, g.node, g.message, g.definitions::text)"
const LIST = statement(
  `${GROUPS.replace(/FROM .*$/, `FROM (SELECT g.* ${NEWEST} LIMIT ${MAX_SEARCHED}) g`)}
   WHERE ($4::text[] IS NULL OR g.state = ANY ($4::text[])) AND ($5::text IS NULL OR strpos(lower(${TEXTS}), lower($5::text)) > 0)
   ORDER BY g.last_at DESC, g.fingerprint DESC LIMIT $6::int`,
)
const LAST_CHECKED = statement(
  `SELECT ${column.selectList(column.ERROR_GROUP, 'g')} ${NEWEST} LIMIT 1 OFFSET ${MAX_SEARCHED - 1}`,
)

const groupFrom = column.decoder(column.ERROR_GROUP)
const failureFrom = column.decoder(column.FAILURE)
const insertEvents = inserter(column.EVENT, '', 'engine')
const putGroups = upserter(column.ERROR_GROUP, ['fingerprint'])

const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }
/** Another process counts a portion meanwhile, which takes longer on a busy machine than a read may wait for a row. */
const PATIENT: Call = { statement: statement("SET LOCAL lock_timeout = '10s'"), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

export interface ErrorGroupParams extends Pick<ReadLanes, 'reads' | 'lists'> {
  readonly probe: Probe | null
}

export function errorGroupsOn({ reads: lanes, lists, probe }: ErrorGroupParams): ErrorGroups {
  return {
    count: async (params) => {
      // Usually there is nothing to count: then nothing is locked.
      if ((await ask(lanes, { statement: ANY, row: () => true })).length === 0) return 0
      return inTransaction(lanes, probe, (client) => count(client, params))
    },
    list: (query) => list(lists, query),
    get: ({ fingerprint, tenant }) => askOne(lanes, { statement: ONE, values: [fingerprint, tenant], row: groupFrom }),
    change: ({ fingerprint, tenant, change }) =>
      inTransaction(lanes, probe, async (client) => {
        let group: ErrorGroupRow | null = null
        let now = 0
        await fly(client, [
          row(ONE_LOCKED, [fingerprint, tenant], (fields) => {
            group = groupFrom(fields)
          }),
          row(CLOCK, [], (fields) => {
            now = Number(fields[0])
          }),
        ])
        if (group === null) return null
        const after = changed(group, change, now)
        await fly(client, [putGroups([after]), insertEvents([eventRow(changeEvent(after))])])
        return after
      }),
  }
}

async function count(
  client: pg.Client,
  { limit, wait }: { readonly limit: number; readonly wait: boolean },
): Promise<number> {
  let locked = wait
  const lock = row(wait ? WAIT_LOCK : TRY_LOCK, [], (fields) => {
    locked ||= fields[0] === 't'
  })
  await fly(client, wait ? [PATIENT, lock] : [lock])
  if (!locked) return 0
  const failures: FailureRow[] = []
  await fly(client, [row(UNCOUNTED, [String(limit)], (fields) => void failures.push(failureFrom(fields)))])
  if (failures.length === 0) return 0
  const byGroup = byFingerprint(withBuilds(failures, await buildsOf(client, holdersOf(failures))))
  const known = new Map<string, ErrorGroupRow>()
  const read = row(OF_FAILURES, [textArray([...byGroup.keys()])], (fields) => {
    const group = groupFrom(fields)
    known.set(group.fingerprint, group)
  })
  await fly(client, [read])
  const groups = [...byGroup].map(([fingerprint, found]) => counted(known.get(fingerprint) ?? null, found))
  const gone: Call = { statement: REMOVE, values: [uuidArray(failures.map(({ id }) => id))] }
  await fly(client, [putGroups(groups), gone])
  return failures.length
}

async function buildsOf(client: pg.Client, holders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const builds = new Map<string, string>()
  if (holders.length === 0) return builds
  await fly(client, [
    row(BUILDS, [textArray(holders)], ([id, build]) => void builds.set(id as string, build as string)),
  ])
  return builds
}

async function list(lanes: Lanes, query: ErrorGroupQuery): Promise<ErrorGroupPage> {
  const { tenant, states, text, limit, before } = query
  const place = [tenant, before === null ? null : String(before.lastAt), before?.fingerprint ?? null]
  const values = [...place, states === null ? null : textArray(states), text, String(limit + 1)]
  const rows = await ask(lanes, { statement: LIST, values, row: groupFrom })
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: cursorOf(rows[limit - 1] as ErrorGroupRow) }
  const last = await askOne(lanes, { statement: LAST_CHECKED, values: place, row: groupFrom })
  return { rows, next: last === null ? null : cursorOf(last) }
}

function row(known: Call['statement'], values: Call['values'], take: (fields: Fields) => void): Call {
  return { statement: known, values, row: take }
}

/** Nothing is written unless `work` succeeds. */
async function inTransaction<T>(
  lanes: Lanes,
  probe: Probe | null,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  try {
    return await lanes.use(async (lane) => {
      try {
        await fly(lane.client, [BEGIN])
        const result = await work(lane.client)
        probe?.('before-commit')
        await fly(lane.client, [COMMIT])
        probe?.('after-commit')
        return result
      } catch (error) {
        if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
        throw error
      }
    })
  } catch (error) {
    throw toStoreError(error)
  }
}
