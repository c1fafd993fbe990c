/** What the administration answers with. */
import { list, object, text, whole } from './schema.ts'

export const ADMIN_SCHEMAS = {
  BulkOperation: object({
    operation_id: text(),
    action: text(),
    status: text('running, completed or stopped.'),
    matched: whole(),
    succeeded: whole(),
    failed: whole(),
    errors: list(object({ job_id: text(), error: text() }), 'The first few.'),
  }),
}
