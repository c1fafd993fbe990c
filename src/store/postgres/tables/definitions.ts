/** Definitions: reads, and the mark set by a start. Deploying and retiring are part of `transact`. */
import type { DefinitionHead, DefinitionName, DefinitionRow, Definitions } from '../../../model/definitions.ts'
import { DEFINITION, DEFINITION_HEAD, decoder, INSTANCE, instanceFrom, selectList } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, type Statement, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'

/** By the index of numbers: whether a later one is in service. */
const LATEST = `d.retired_at IS NULL AND NOT EXISTS (SELECT FROM workflow.workflow_definition n
  WHERE n.name = d.name AND coalesce(n.tenant, '') = coalesce(d.tenant, '') AND n.number > d.number AND n.retired_at IS NULL)`
const OF_TENANT = "coalesce(d.tenant, '') = coalesce($1::text, '')"
const HEAD = `SELECT ${selectList(DEFINITION_HEAD, 'd')}, ${LATEST} FROM workflow.workflow_definition d`
const ROW = `SELECT ${selectList(DEFINITION, 'd')}, ${LATEST} FROM workflow.workflow_definition d`

const OF_NAME = `WHERE d.name = $2::text AND ${OF_TENANT}`
const GIVEN = `${OF_NAME} AND d.version = $3::text`
const NEWEST = `${OF_NAME} ORDER BY d.retired_at IS NOT NULL, d.number DESC LIMIT 1`

/** Locks a name, existing or not: two deploys of one name are serialised. */
export const LOCK_NAME = statement('SELECT pg_advisory_xact_lock(hashtextextended($1::text, 7305803160811))')

/**
 * All versions of names. The rows are locked too: a start that marks one as used waits for a deploy that replaces it,
 * or vice versa.
 */
export const VERSIONS = statement(
  `SELECT ${selectList(DEFINITION_HEAD, 'd')}, ${LATEST}
   FROM unnest($1::text[], $2::text[]) k(tenant, name)
   JOIN workflow.workflow_definition d ON d.name = k.name AND coalesce(d.tenant, '') = k.tenant
   ORDER BY d.name, d.number FOR UPDATE OF d`,
)

const FIND = { given: statement(`${HEAD} ${GIVEN}`), newest: statement(`${HEAD} ${NEWEST}`) }
const GET = { given: statement(`${ROW} ${GIVEN}`), newest: statement(`${ROW} ${NEWEST}`) }
const BY_ID = statement(`${ROW} WHERE d.id = $1::uuid`)
const LIST = statement(
  `${HEAD} WHERE ${OF_TENANT} AND ${LATEST} AND ($2::text IS NULL OR d.dialect = $2::text) AND ($3::uuid IS NULL OR d.id < $3::uuid)
   ORDER BY d.id DESC LIMIT $4::int4`,
)
const LIST_VERSIONS = statement(
  `${HEAD} WHERE ${OF_TENANT} AND d.name = $5::text AND ($2::text IS NULL OR d.dialect = $2::text)
     AND ($3::uuid IS NULL OR d.number < (SELECT b.number FROM workflow.workflow_definition b WHERE b.id = $3::uuid))
   ORDER BY d.number DESC LIMIT $4::int4`,
)
const NAMES = statement(
  `SELECT DISTINCT d.name COLLATE "C" FROM workflow.workflow_definition d WHERE ${OF_TENANT} AND d.retired_at IS NULL ORDER BY 1`,
)
const EVENT = "d.retired_at IS NULL AND (d.trigger ->> 'event')"
const LISTENING = statement(
  `${HEAD} WHERE ${EVENT} = $2::text AND ${OF_TENANT} AND ${LATEST} ORDER BY d.name COLLATE "C"`,
)
const EVENTS = statement(
  `SELECT DISTINCT (d.trigger ->> 'event') COLLATE "C" FROM workflow.workflow_definition d
   WHERE ${EVENT} IS NOT NULL AND ${OF_TENANT} AND ${LATEST} ORDER BY 1`,
)
const USE = statement(
  `UPDATE workflow.workflow_definition d SET used_at = coalesce(d.used_at, workflow.clock())
   WHERE d.id = $1::uuid AND d.source_hash = $2::text AND d.retired_at IS NULL RETURNING d.used_at`,
)

const IDLE = statement(
  `SELECT ${selectList(INSTANCE, 'i')} FROM workflow.workflow_instance i
   WHERE i.state = 'idle' AND i.parent_id IS NULL AND i.name = $2::text AND coalesce(i.tenant, '') = coalesce($1::text, '')
   ORDER BY i.id LIMIT $3::int4`,
)

const headOf = decoder(DEFINITION_HEAD)
const rowOf = decoder(DEFINITION)

export function headFrom(fields: Fields): DefinitionHead {
  return { ...headOf(fields), latest: fields.at(-1) === 't' }
}

function rowFrom(fields: Fields): DefinitionRow {
  return { ...rowOf(fields), latest: fields.at(-1) === 't' }
}

type Wanted = DefinitionName & { readonly version: string | null }

export function definitionsOn(lanes: { readonly reads: Lanes; readonly lists: Lanes }): Definitions {
  const { reads, lists } = lanes
  const one = <T>(
    { given, newest }: { readonly given: Statement; readonly newest: Statement },
    { tenant, name, version }: Wanted,
    row: (fields: Fields) => T,
  ): Promise<T | null> =>
    version === null
      ? askOne(reads, { statement: newest, values: [tenant, name], row })
      : askOne(reads, { statement: given, values: [tenant, name, version], row })
  return {
    list: ({ tenant, name, dialect, limit, before }) => {
      const values = [tenant, dialect, before, String(limit)]
      return name === null
        ? ask(lists, { statement: LIST, values, row: headFrom })
        : ask(lists, { statement: LIST_VERSIONS, values: [...values, name], row: headFrom })
    },
    find: (wanted) => one(FIND, wanted, headFrom),
    get: (wanted) => one(GET, wanted, rowFrom),
    byId: (id) => askOne(reads, { statement: BY_ID, values: [id], row: rowFrom }),
    names: ({ tenant }) => ask(lists, { statement: NAMES, values: [tenant], row: ([name]) => name as string }),
    listening: ({ tenant, event }) => ask(reads, { statement: LISTENING, values: [tenant, event], row: headFrom }),
    events: ({ tenant }) => ask(lists, { statement: EVENTS, values: [tenant], row: ([event]) => event as string }),
    idle: ({ tenant, name, limit }) =>
      ask(reads, { statement: IDLE, values: [tenant, name, String(limit)], row: instanceFrom }),
    use: ({ id, sourceHash }) =>
      askOne(reads, { statement: USE, values: [id, sourceHash], row: ([at]) => parseTime(at as string) }),
  }
}
