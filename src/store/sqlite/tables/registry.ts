/** Settings of queues, schemas of arguments. For the runtimes of a type see runtimes.ts. */
import type { QueueConfigRow, Registry, SchemaRow } from '../../../model/registry.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { fairWeightsOn } from './fair-weights.ts'
import { runtimesOn } from './runtimes.ts'

const CONFIGS = 'SELECT name, config, updated_at, updated_by FROM workflow_queue_config ORDER BY name'
const PUT_CONFIG = `INSERT INTO workflow_queue_config (name, config, updated_at, updated_by) VALUES (?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at, updated_by = excluded.updated_by`
const CELLS = 'uri, type, version, schema, created_at, created_by'
const SCHEMAS = `SELECT ${CELLS} FROM workflow_schema WHERE ?1 IS NULL OR type = ?1 ORDER BY created_at, uri`
const SCHEMA = `SELECT ${CELLS} FROM workflow_schema WHERE uri = ?`
const ADD = `INSERT INTO workflow_schema (${CELLS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING uri`
const REMOVE = 'DELETE FROM workflow_schema WHERE uri = ? RETURNING uri'

export function registryOn(connection: Connection): Registry {
  const write = <T>(work: () => T): Promise<T> => connection.write(work, () => undefined)
  return {
    ...runtimesOn(connection),
    ...fairWeightsOn(connection),
    queueConfigs: () => connection.read(() => connection.statement(CONFIGS).all().map(configOf)),
    putQueueConfig: ({ name, config, updatedAt, updatedBy }) =>
      write(() => void connection.statement(PUT_CONFIG).get(name, config, updatedAt, updatedBy)),
    schemas: ({ type }) => connection.read(() => connection.statement(SCHEMAS).all(type).map(schemaOf)),
    schemaByUri: (uri) =>
      connection.read(() => {
        const cells = connection.statement(SCHEMA).get(uri)
        return cells === undefined ? null : schemaOf(cells)
      }),
    addSchema: ({ uri, type, version, schema, createdAt, createdBy }) =>
      write(() => connection.statement(ADD).get(uri, type, version, schema, createdAt, createdBy) !== undefined),
    removeSchema: (uri) => write(() => connection.statement(REMOVE).get(uri) !== undefined),
  }
}

function configOf([name, config, updatedAt, updatedBy]: Cells): QueueConfigRow {
  return {
    name: name as string,
    config: config as string,
    updatedAt: updatedAt as number,
    updatedBy: updatedBy as string | null,
  }
}

function schemaOf([uri, type, version, schema, createdAt, createdBy]: Cells): SchemaRow {
  return {
    uri: uri as string,
    type: type as string,
    version: version as string,
    schema: schema as string,
    createdAt: createdAt as number,
    createdBy: createdBy as string | null,
  }
}
