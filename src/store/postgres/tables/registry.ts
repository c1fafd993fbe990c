/** Settings of queues, schemas of arguments. For the runtimes of a type see runtimes.ts. */
import type { QueueConfigRow, Registry, SchemaRow } from '../../../model/registry.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { fairWeightsOn } from './fair-weights.ts'
import { runtimesOn } from './runtimes.ts'

const CONFIGS = statement(
  'SELECT name, config, updated_at, updated_by FROM workflow.workflow_queue_config ORDER BY name',
)
const PUT_CONFIG = statement(
  `INSERT INTO workflow.workflow_queue_config (name, config, updated_at, updated_by)
   VALUES ($1, $2::json, to_timestamp($3::float8 / 1000), $4)
   ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
)
const COLUMNS = 'uri, type, version, schema, created_at, created_by'
const SCHEMAS = statement(
  `SELECT ${COLUMNS} FROM workflow.workflow_schema WHERE $1::text IS NULL OR type = $1::text ORDER BY created_at, uri`,
)
const SCHEMA = statement(`SELECT ${COLUMNS} FROM workflow.workflow_schema WHERE uri = $1`)
const ADD = statement(
  `INSERT INTO workflow.workflow_schema (${COLUMNS})
   VALUES ($1, $2, $3, $4::json, to_timestamp($5::float8 / 1000), $6) ON CONFLICT DO NOTHING RETURNING uri`,
)
const REMOVE = statement('DELETE FROM workflow.workflow_schema WHERE uri = $1 RETURNING uri')

export function registryOn(lanes: Lanes): Registry {
  return {
    ...runtimesOn(lanes),
    ...fairWeightsOn(lanes),
    queueConfigs: () => ask(lanes, { statement: CONFIGS, row: configFrom }),
    putQueueConfig: async ({ name, config, updatedAt, updatedBy }) => {
      await ask(lanes, { statement: PUT_CONFIG, values: [name, config, String(updatedAt), updatedBy], row: () => null })
    },
    schemas: ({ type }) => ask(lanes, { statement: SCHEMAS, values: [type], row: schemaFrom }),
    schemaByUri: (uri) => askOne(lanes, { statement: SCHEMA, values: [uri], row: schemaFrom }),
    addSchema: async ({ uri, type, version, schema, createdAt, createdBy }) => {
      const values = [uri, type, version, schema, String(createdAt), createdBy]
      return (await askOne(lanes, { statement: ADD, values, row: () => true })) ?? false
    },
    removeSchema: async (uri) => (await askOne(lanes, { statement: REMOVE, values: [uri], row: () => true })) ?? false,
  }
}

function configFrom([name, config, updatedAt, updatedBy]: Fields): QueueConfigRow {
  return {
    name: name as string,
    config: config as string,
    updatedAt: parseTime(updatedAt as string),
    updatedBy: updatedBy ?? null,
  }
}

function schemaFrom([uri, type, version, schema, createdAt, createdBy]: Fields): SchemaRow {
  return {
    uri: uri as string,
    type: type as string,
    version: version as string,
    schema: schema as string,
    createdAt: parseTime(createdAt as string),
    createdBy: createdBy ?? null,
  }
}
