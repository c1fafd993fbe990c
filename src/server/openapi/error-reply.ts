/** The one shape of errors. */
import { anything, flag, named, object, optional, text } from '../../wire/schema.ts'

export const ErrorReply = named(
  'Error',
  object(
    {
      error: object({
        code: text('Stable; see /docs/errors.'),
        type: optional(text()),
        message: text('What is wrong, and where.'),
        retryable: flag('true: the same request may succeed later.'),
        details: anything({ type: 'object' }),
        hint: text('What would be right.'),
        docs_url: text(),
        request_id: text('Also in the server’s log.'),
      }),
    },
    'Nothing has changed when an error is answered.',
  ),
)
