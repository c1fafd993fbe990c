/** Counts failures into their groups (model/errors/groups.ts). */
import type { Store } from '../../store/store.ts'

/** Failures in one transaction. */
const CHUNK = 1_000

/** A request counts this many portions at most; the sweeper, which does not wait, all of them. */
const MOST_OF_REQUEST = 20

/** `wait` false: until none is left, but not while another process is counting. */
export async function countFailures(
  { errorGroups }: Pick<Store, 'errorGroups'>,
  { wait, isClosed = () => false }: { readonly wait: boolean; readonly isClosed?: () => boolean },
): Promise<void> {
  for (let left = wait ? MOST_OF_REQUEST : Number.POSITIVE_INFINITY; left > 0 && !isClosed(); left--) {
    if ((await errorGroups.count({ limit: CHUNK, wait })) < CHUNK) return
  }
}
