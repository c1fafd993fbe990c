/** JSON Schemas of arguments. A schema describes the list of arguments; one of type `object` describes the first of them. */

import type { EngineApi } from '../../../engine/api.ts'
import { RequestError } from '../../../http/request-error.ts'
import { type Check, compileSchema, misfitsOf } from '../../../kernel/json-schema.ts'
import type { SchemaRow } from '../../../model/registry.ts'
import type { JobAsked } from '../compile/job.ts'

const MOST_KEPT = 500
/** A schema that was deleted on another server is still used for so long. */
const KEEP_MS = 2_000

export class Schemas {
  readonly #engine: EngineApi
  readonly #known = new Map<
    string,
    { readonly check: Check | null; readonly row: SchemaRow | null; readonly until: number }
  >()

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  forget(): void {
    this.#known.clear()
  }

  /** Refuses jobs whose arguments do not fit the schema they name. A schema that nobody registered checks nothing. */
  async check(jobs: readonly JobAsked[], pathOf: (index: number) => readonly (string | number)[]): Promise<void> {
    for (const [index, job] of jobs.entries()) {
      if (job.meta['ojs_validate'] === true && job.args.length === 0)
        throw unfounded([...pathOf(index), 'args'].join('.'))
      const uri = job.envelope.rest?.['schema']
      if (typeof uri !== 'string') continue
      const { check, row } = await this.#find(uri)
      if (check === null || row === null) continue
      const first = (JSON.parse(row.schema) as { readonly type?: unknown }).type === 'object'
      const at = [...pathOf(index), 'args', ...(first ? [0] : [])].join('.')
      const errors = misfitsOf(check, first ? job.args[0] : job.args, at)
      if (errors.length === 0) continue
      throw new RequestError('schema_validation', `${errors[0]?.path ?? at}: ${errors[0]?.message ?? 'does not fit'}`, {
        details: { schema: uri, validation_errors: errors },
        hint: `GET /ojs/v1/schemas/${encodeURIComponent(uri)} shows what the arguments must be.`,
      })
    }
  }

  async #find(uri: string) {
    const known = this.#known.get(uri)
    if (known !== undefined && known.until > performance.now()) return known
    const row = await this.#engine.records.settings.schemaByUri(uri)
    const same = row !== null && known?.row?.schema === row.schema
    const check = row === null ? null : same ? known.check : compileSchema(JSON.parse(row.schema))
    const found = { row, check, until: performance.now() + KEEP_MS }
    if (this.#known.size >= MOST_KEPT) this.#known.clear()
    this.#known.set(uri, found)
    return found
  }
}

/** meta.ojs_validate: whoever enqueues says himself that the job makes no sense without arguments. */
function unfounded(path: string): RequestError {
  return new RequestError('validation_error', `${path}: meta.ojs_validate is set, and there are no arguments`, {
    details: { field: path },
    hint: 'Send at least one argument, or leave meta.ojs_validate out.',
  })
}

const BY_ENGINE = new WeakMap<EngineApi, Schemas>()

/** One for all routes of a server. */
export function schemasOf(engine: EngineApi): Schemas {
  let schemas = BY_ENGINE.get(engine)
  if (schemas === undefined) {
    schemas = new Schemas(engine)
    BY_ENGINE.set(engine, schemas)
  }
  return schemas
}
