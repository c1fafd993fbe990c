/** The name of a queue in a path. */
import { RequestError } from '../../../../http/request-error.ts'
import { isQueueName } from '../../compile/names.ts'

/** Refuses what no queue can be called. */
export function queueName(name: string): string {
  if (isQueueName(name)) return name
  throw new RequestError('invalid_request', `'${name}' is not the name of a queue`, {
    details: { field: 'name' },
    hint: 'Lower-case letters, digits, dots and hyphens, a letter or digit first, at most 128 characters.',
  })
}
