/** A patch of the context of an instance, as a request body. */
import { MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import type { Json } from '../../net/net.ts'
import { type Body, checked } from '../mistaken.ts'
import { anything, asked, entries, storable } from '../schema.ts'

const ENTRY_HINT = '{ "set": { "approved": true } }'

export const ContextRequest = asked('a patch', {
  set: entries(anything(), {
    description: 'Values by name.',
    minProperties: 1,
    hint: `what to write, by name: ${ENTRY_HINT}`,
    nameProblem: (name) =>
      name !== '' && name.length <= MAX_TYPE_LENGTH && storable(name)
        ? null
        : `a name in the context has 1 to ${MAX_TYPE_LENGTH} characters, any but NUL`,
  }),
})

/** For a body that has not been checked. */
export function readContext(body: Body): { readonly [name: string]: Json } {
  return checked(ContextRequest, body).set as { readonly [name: string]: Json }
}
