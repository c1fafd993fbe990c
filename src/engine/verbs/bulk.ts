/** What can be done with bulk operations. */

import type { BulkOperations } from '../control/bulk.ts'
import type { Parts } from '../parts.ts'

export interface BulkVerbs {
  readonly bulk: BulkOperations
}

export function bulkVerbs({ bulk }: Parts): BulkVerbs {
  return { bulk }
}
