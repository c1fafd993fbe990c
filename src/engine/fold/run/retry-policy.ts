/** The retry policy of a run: its own, its node's, or that of the inbox. */

import type { RunRow } from '../../../model/rows.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { memberOf } from '../members.ts'
import type { Members } from '../working-set.ts'

/**
 * The policy of the inbox, for rows without one: attempt² minutes and up to 10 % more. 63 s ± 1/21 is the same interval,
 * [60 s, 66 s), as a symmetric jitter.
 */
export const INBOX_RETRY: Retry = {
  maxAttempts: 3,
  backoff: 'polynomial',
  initialMs: 63_000,
  coefficient: 2,
  maxMs: 7 * 24 * 3_600_000,
  jitter: 1 / 21,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
}

/** The row determines how many attempts there are (maxAttempts), the policy the delays between them. */
export function policyOf(change: Members, run: RunRow): Retry {
  if (run.retry !== null) return JSON.parse(run.retry) as Retry
  if (run.instanceId === null || run.node === null) return INBOX_RETRY
  const node = memberOf(change, run.instanceId).net.byKey.get(run.node)
  return (run.role === 'undo' ? node?.undo?.retry : node?.retry) ?? INBOX_RETRY
}
