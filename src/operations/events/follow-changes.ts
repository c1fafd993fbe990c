/** What changes, as far as the caller may see it. */
import { operation } from '../operation.ts'
import type { Change } from './changes.ts'

export interface FollowedChanges {
  since(after: number | null): Promise<{ readonly change: Change | null; readonly place: number }>
  moved(after: number, signal: AbortSignal): Promise<void>
}

export const followChanges = operation(
  { scope: 'read' },
  async ({ changes, caller }, _: null): Promise<FollowedChanges> => ({
    since: (after) => changes.since(after, caller),
    moved: (after, signal) => changes.moved(after, signal),
  }),
)
