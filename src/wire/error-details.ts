/** Details of engine errors under their names in /v1 and `--json`. */
import type { ErrorCode, ErrorDetails, Subject } from '../kernel/errors.ts'
import { anything, flag, named, object, optional, text } from './schema.ts'
import type { Wire } from './value.ts'

/** The body of every error. */
export const ErrorReply = named(
  'Error',
  object(
    {
      error: object({
        code: text('Stable; see /docs/errors.'),
        type: optional(text()),
        message: text('The problem and its position.'),
        retryable: flag('true: the same request may succeed later.'),
        details: anything({ type: 'object' }),
        hint: text('A suggestion.'),
        docs_url: text(),
        request_id: text('Also in the server’s log.'),
      }),
    },
    'Nothing has changed when an error is returned.',
  ),
)

export function errorDetailsWire(code: ErrorCode, details: ErrorDetails): Wire {
  const { problem: _, hint: __, out_of_range: ___, kind, id, status, expected, ...more } = details
  if (kind === undefined) return { ...(id === undefined ? {} : { id }), ...more }
  if (code === 'not_found') return { id, resource_type: RESOURCES[kind] ?? kind, resource_id: id, ...more }
  if (code === 'duplicate') return { ...more, ...existingWire(kind, id), ...standing({ current_state: status }) }
  if (kind !== 'run') return { id, ...standing({ state: status, expected_state: expected }), ...more }
  if (status === undefined) return { id, ...more }
  const { wait, ...rest } = more
  const states = { state: status, current_state: status, current: wait ?? status, expected_state: expected }
  return { job_id: id, ...standing(states), ...rest }
}

/** Older than the word `run`. */
const RESOURCES: { readonly [K in Subject]?: string } = {
  run: 'job',
  limit: 'rate_limit',
  'dead letter': 'dead_letter_job',
}

function existingWire(kind: Subject, id: string | undefined): Wire {
  return kind === 'run' ? { existing_job_id: id } : { existing_workflow_id: id }
}

function standing(words: { readonly [name: string]: unknown }): Wire {
  return Object.fromEntries(Object.entries(words).filter(([, word]) => word !== undefined))
}
