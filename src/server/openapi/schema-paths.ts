/** The registry of schemas. */
import type { Answer, Operation, Paths } from './operation.ts'
import { PAGE } from './parameters.ts'
import { anything, flag, list, object, ref, type Schema, text, whole } from './schema.ts'

const NOT_FOUND = { errors: ['not_found'] } as const

const ok = (description: string, schema: Schema): { readonly '200': Answer } => ({ '200': { description, schema } })
const items = (item: Schema): Schema => object({ items: list(item), pagination: ref('Pagination') })

const SCHEMA_BODY = { schema: anything('A JSON Schema of the list of arguments; one of type object is of the first.') }
const schemas = (summary: string, answers: Operation['answers'], more: Partial<Operation> = {}): Operation => ({
  tag: 'Schemas',
  summary,
  answers,
  ...more,
})
const ADMIN = { scope: 'admin' } as const

export const SCHEMA_PATHS: Paths = {
  '/ojs/v1/admin/schemas': {
    get: schemas('List schemas (admin)', ok('Oldest first.', items(ref('JobSchema'))), { query: PAGE, ...ADMIN }),
  },
  '/ojs/v1/admin/schemas/{type}': {
    get: schemas('Read the newest schema of a type', ok('It.', ref('JobSchema')), { ...ADMIN, ...NOT_FOUND }),
  },
  '/ojs/v1/admin/schemas/{type}/versions': {
    get: schemas(
      'List the schemas of a type',
      ok('By version.', object({ type: text(), versions: list(ref('JobSchema')) })),
      ADMIN,
    ),
  },
  '/ojs/v1/admin/schemas/{type}/{version}': {
    get: schemas('Read a schema', ok('It.', ref('JobSchema')), { ...ADMIN, ...NOT_FOUND }),
    put: schemas(
      'Register a schema',
      { '201': { description: 'Registered.', schema: ref('JobSchema') } },
      {
        description: 'Once: a version is never changed.',
        body: { schema: object(SCHEMA_BODY, { required: ['schema'] }) },
        errors: ['conflict'],
        ...ADMIN,
      },
    ),
    delete: schemas('Delete a schema', ok('Gone.', object({ deleted: flag() })), { ...ADMIN, ...NOT_FOUND }),
  },
  '/ojs/v1/schemas': {
    get: schemas(
      'List schemas',
      ok('Oldest first.', object({ schemas: list(ref('JobSchema')), pagination: ref('Pagination') })),
      { query: PAGE },
    ),
    post: schemas(
      'Register a schema under a URI',
      { '201': { description: 'Registered.', schema: object({ schema: ref('JobSchema') }), headers: ['Location'] } },
      {
        body: {
          schema: object(
            { type: text(), version: whole(), uri: text(), ...SCHEMA_BODY },
            { required: ['type', 'version', 'schema'] },
          ),
        },
        errors: ['conflict'],
        ...ADMIN,
      },
    ),
  },
  '/ojs/v1/schemas/{uri}': {
    get: schemas('Read a schema by its URI', ok('It.', object({ schema: ref('JobSchema') })), NOT_FOUND),
    delete: schemas('Delete a schema by its URI', ok('Gone.', object({ deleted: flag(), uri: text() })), {
      ...ADMIN,
      ...NOT_FOUND,
    }),
  },
}
