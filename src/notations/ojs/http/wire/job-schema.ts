/** A registered schema of arguments, and the bodies that register one. */
import type { SchemaRow } from '../../../../model/registry.ts'
import type { Json } from '../../../../net/net.ts'
import {
  anything,
  asked,
  extensible,
  flag,
  list,
  named,
  number,
  object,
  oneOf,
  optional,
  text,
  time,
  type Value,
} from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { Pagination } from '../paging.ts'
import { JOB_TYPE } from './fields.ts'

const VERSION = /^\d{1,9}(?:\.\d{1,9}){0,2}$/
const URI = /^[\x21-\x7e]{1,500}$/

const Version = oneOf([number(), text()], 'A number, or several separated by dots as in "1.2.0".')

export const JobSchema = named(
  'JobSchema',
  object({
    uri: text(),
    type: text(),
    version: Version,
    schema: anything({ type: 'object' }),
    created_at: time(),
    created_by: optional(text()),
  }),
)

export const JobSchemaList = object({ schemas: list(JobSchema), items: list(JobSchema), pagination: Pagination })

export const JobSchemaVersions = object({ type: text(), versions: list(JobSchema), items: list(JobSchema) })

export const JobSchemaDeleted = object({
  deleted: flag(),
  uri: text(),
  type: text(),
  version: Version,
})

const SCHEMA_FIELD = anything({
  type: 'object',
  description: 'A JSON Schema of the list of arguments; one of type object applies to the first argument.',
  hint: '{ "schema": { "type": "array", "minItems": 1 } }',
})

export const SchemaOfVersion = extensible(asked('a schema', { schema: SCHEMA_FIELD }))

export const SchemaOfUri = extensible(
  asked('a schema', {
    type: JOB_TYPE,
    version: Version,
    uri: optional(
      text({
        pattern: URI.source,
        is: 'a string without spaces',
        fits: (value: string) => URI.test(value),
        description: 'Default: made from the type and the version.',
      }),
    ),
    schema: SCHEMA_FIELD,
  }),
)

export const NAME_OF_TYPE = object({ type: JOB_TYPE })

export function isVersion(given: string): boolean {
  return VERSION.test(given)
}

export function uriOf(type: string, version: string): string {
  return `urn:ojs:schema:${type}:v${version}`
}

export function versionWire(version: string): string | number {
  return version.includes('.') ? version : Number(version)
}

export function schemaWire(row: SchemaRow): Value<typeof JobSchema> {
  return {
    uri: row.uri,
    type: row.type,
    version: versionWire(row.version),
    schema: JSON.parse(row.schema) as Json,
    created_at: timeText(row.createdAt),
    ...(row.createdBy === null ? {} : { created_by: row.createdBy }),
  }
}
