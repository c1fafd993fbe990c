/** Definitions: reads, and the mark set by a start. Deploying and retiring are part of `transact`. */
import { DEFINITION, type DefinitionHead, type DefinitionName, type Definitions } from '../../../model/definitions.ts'
import { bool, columnsOf, table } from '../../../model/table.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { upserter } from '../row/put.ts'
import { rowReader } from '../row/reader.ts'

const { source: _source, plan: _plan, ...HEAD_FIELDS } = DEFINITION.fields
const HEAD_CELLS = columnsOf(table('workflow_definition', HEAD_FIELDS))
  .map(({ name }) => `d.${name}`)
  .join(', ')
const headOf = rowReader(table('workflow_definition', { latest: bool(), ...HEAD_FIELDS }))
const rowOf = rowReader(table('workflow_definition', { latest: bool(), ...DEFINITION.fields }))
/** By the index of numbers: whether a later one is in service. */
const LATEST = `(d.retired_at IS NULL AND NOT EXISTS (SELECT 1 FROM workflow_definition n
  WHERE n.name = d.name AND coalesce(n.tenant, '') = coalesce(d.tenant, '') AND n.number > d.number AND n.retired_at IS NULL))`
const OF_TENANT = "coalesce(d.tenant, '') = coalesce(?1, '')"
const HEAD = `SELECT ${LATEST}, ${HEAD_CELLS} FROM workflow_definition d`
const ROW = `SELECT ${LATEST}, ${HEAD_CELLS}, d.source, d.plan FROM workflow_definition d`

const OF_NAME = `WHERE d.name = ?2 AND ${OF_TENANT}`
const GIVEN = `${OF_NAME} AND d.version = ?3`
const NEWEST = `${OF_NAME} ORDER BY d.retired_at IS NOT NULL, d.number DESC LIMIT 1`

const VERSIONS = `${HEAD} ${OF_NAME} ORDER BY d.number`
const LIST = `${HEAD} WHERE ${OF_TENANT} AND ${LATEST} AND (?2 IS NULL OR d.dialect = ?2) AND (?3 IS NULL OR d.id < ?3)
  ORDER BY d.id DESC LIMIT ?4`
const LIST_VERSIONS = `${HEAD} WHERE ${OF_TENANT} AND d.name = ?5 AND (?2 IS NULL OR d.dialect = ?2)
    AND (?3 IS NULL OR d.number < (SELECT b.number FROM workflow_definition b WHERE b.id = ?3))
  ORDER BY d.number DESC LIMIT ?4`
const NAMES = `SELECT DISTINCT d.name FROM workflow_definition d WHERE ${OF_TENANT} AND d.retired_at IS NULL ORDER BY d.name`
const EVENT = `d.retired_at IS NULL AND json_extract(d."trigger", '$.event')`
const LISTENING = `${HEAD} WHERE ${EVENT} IS NOT NULL AND json_extract(d."trigger", '$.event') = ?2 AND ${OF_TENANT} AND ${LATEST}
  ORDER BY d.name`
const EVENTS = `SELECT DISTINCT json_extract(d."trigger", '$.event') FROM workflow_definition d
  WHERE ${EVENT} IS NOT NULL AND ${OF_TENANT} AND ${LATEST} ORDER BY 1`
const IDLE = `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE state = 'idle' AND parent_id IS NULL AND name = ?2 AND coalesce(tenant, '') = coalesce(?1, '') ORDER BY id LIMIT ?3`
const USE = `UPDATE workflow_definition SET used_at = coalesce(used_at, ?3)
  WHERE id = ?1 AND source_hash = ?2 AND retired_at IS NULL RETURNING used_at`

export const putDefinition = upserter(DEFINITION, { keys: ['id'], kept: ['tenant', 'name', 'version', 'number'] })
const RETIRE = 'UPDATE workflow_definition SET retired_at = ?2 WHERE id = ?1 AND retired_at IS NULL'
const TAG = 'UPDATE workflow_definition SET tags = ?2 WHERE id = ?1'
const RESTORE = 'UPDATE workflow_definition SET retired_at = NULL WHERE id = ?1'

type Wanted = DefinitionName & { readonly version: string | null }

export function definitionsOn(connection: Connection): Definitions {
  const all = <T>(sql: string, row: (cells: Cells) => T, ...values: Value[]): Promise<readonly T[]> =>
    connection.read(() =>
      connection
        .statement(sql)
        .all(...values)
        .map(row),
    )
  const first = async <T>(sql: string, row: (cells: Cells) => T, ...values: Value[]): Promise<T | null> =>
    (await all(sql, row, ...values))[0] ?? null
  const one = <T>(sql: string, { tenant, name, version }: Wanted, row: (cells: Cells) => T): Promise<T | null> =>
    version === null
      ? first(`${sql} ${NEWEST}`, row, tenant, name)
      : first(`${sql} ${GIVEN}`, row, tenant, name, version)
  return {
    list: ({ tenant, name, dialect, limit, before }) =>
      name === null
        ? all(LIST, headOf, tenant, dialect, before, limit)
        : all(LIST_VERSIONS, headOf, tenant, dialect, before, limit, name),
    find: (wanted) => one(HEAD, wanted, headOf),
    get: (wanted) => one(ROW, wanted, rowOf),
    byId: (id) => first(`${ROW} WHERE d.id = ?1`, rowOf, id),
    names: ({ tenant }) => all(NAMES, ([name]) => name as string, tenant),
    listening: ({ tenant, event }) => all(LISTENING, headOf, tenant, event),
    events: ({ tenant }) => all(EVENTS, ([event]) => event as string, tenant),
    idle: ({ tenant, name, limit }) => all(IDLE, instanceOf, tenant, name, limit),
    use: ({ id, sourceHash }) =>
      connection.write(() => {
        const used = connection.statement(USE).get(id, sourceHash, readClock(connection))
        return used === undefined ? null : (used[0] as number)
      }),
  }
}

/** All versions of a name, inside a transaction, which has the file's write lock. */
export function loadVersions(connection: Connection, { tenant, name }: DefinitionName): readonly DefinitionHead[] {
  return connection.statement(VERSIONS).all(tenant, name).map(headOf)
}

export function retireDefinition(connection: Connection, id: string, now: number): void {
  connection.statement(RETIRE).get(id, now)
}

export function restoreDefinition(connection: Connection, id: string): void {
  connection.statement(RESTORE).get(id)
}

export function tagDefinition(connection: Connection, id: string, tags: string | null): void {
  connection.statement(TAG).get(id, tags)
}
