/** Times of an instance for reads of its events. */
import type { InstanceRow } from '../../model/rows.ts'

/** A clock that was set back may have given events a time before their instance's. */
const SLACK_MS = 7 * 86_400_000

/** No event of the instance is older. It bounds the partitions of the history that a read enters. */
export function sinceOf({ createdAt }: Pick<InstanceRow, 'createdAt'>): number {
  return createdAt - SLACK_MS
}
