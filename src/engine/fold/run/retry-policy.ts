/** Which retry policy a run has: its own, its node's, or that of the inbox. */

import type { RunRow } from '../../../model/rows.ts'
import type { Retry } from '../../../net/net.ts'
import { memberOf } from '../members.ts'
import type { Members } from '../working-set.ts'
import { INBOX_RETRY } from './backoff.ts'

/** How often is for the row to say (maxAttempts), how long to wait in between for the policy. */
export function policyOf(change: Members, run: RunRow): Retry {
  if (run.retry !== null) return JSON.parse(run.retry) as Retry
  if (run.instanceId === null || run.node === null) return INBOX_RETRY
  const node = memberOf(change, run.instanceId).net.byKey.get(run.node)
  return (run.role === 'undo' ? node?.undo?.retry : node?.retry) ?? INBOX_RETRY
}
