/**
 * JSON Schemas. Draft 2020-12 if a schema says so or has `prefixItems`, else draft 7. `format` is not checked, and
 * nothing is loaded from elsewhere.
 */
import { createRequire } from 'node:module'
import type { Ajv, ValidateFunction } from 'ajv'

const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const
const MOST_TOLD = 20
/** The checker is loaded with the first schema: most processes never meet one, and nets are checked in one go. */
const load = createRequire(import.meta.url)

/** Throws if it is no JSON Schema. */
export function compileSchema(schema: unknown): ValidateFunction {
  const { $schema, ...rest } = (typeof schema === 'object' ? schema : {}) as Record<string, unknown>
  const draft2020 = typeof $schema === 'string' ? $schema.includes('2020-12') : rest['prefixItems'] !== undefined
  const Checker: new (options: typeof OPTIONS) => Pick<Ajv, 'compile'> = draft2020
    ? (load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')).Ajv2020
    : (load('ajv') as typeof import('ajv')).Ajv
  // One of its own for each: schemas must not meet under the same $id.
  return new Checker(OPTIONS).compile(typeof schema === 'boolean' ? schema : rest)
}

export interface Misfit {
  readonly path: string
  readonly message: string
}

/** Where a value does not fit, each path beginning with `at`; empty: it fits. */
export function misfitsOf(check: ValidateFunction, value: unknown, at: string): readonly Misfit[] {
  if (check(value)) return []
  return (check.errors ?? []).slice(0, MOST_TOLD).map((error) => ({
    path: `${at}${error.instancePath.replaceAll('/', '.')}`,
    message: error.message ?? error.keyword,
  }))
}
