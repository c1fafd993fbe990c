/** Arguments of jobs that are enqueued, against the schemas that the jobs name. */
import { RequestError } from '../../../http/request-error.ts'
import type { Perform } from '../../../operations/operation.ts'
import { checkArguments } from '../../../operations/schemas/schemas.ts'
import type { JobAsked } from '../compile/job.ts'

/** A schema that is not registered checks nothing. */
export async function refuseMisfits(
  perform: Perform,
  jobs: readonly JobAsked[],
  pathOf: (index: number) => readonly (string | number)[],
): Promise<void> {
  for (const [index, { args, meta, envelope }] of jobs.entries()) {
    const needsSome = meta['ojs_validate'] === true && args.length === 0
    const uri = envelope.rest?.['schema']
    if (!needsSome && typeof uri !== 'string') continue
    const path = [...pathOf(index), 'args'].join('.')
    if (needsSome) throw unfounded(path)
    const errors = await perform(checkArguments, { uri: uri as string, args, path })
    const [first] = errors
    if (first === undefined) continue
    throw new RequestError('schema_validation', `${first.path}: ${first.message}`, {
      details: { schema: uri, validation_errors: errors },
      hint: `GET /ojs/v1/schemas/${encodeURIComponent(uri as string)} shows what the arguments must be.`,
    })
  }
}

/** meta.ojs_validate: the client itself declares that the job makes no sense without arguments. */
function unfounded(path: string): RequestError {
  return new RequestError('validation_error', `${path}: meta.ojs_validate is set, and there are no arguments`, {
    details: { field: path },
    hint: 'Send at least one argument, or leave meta.ojs_validate out.',
  })
}
