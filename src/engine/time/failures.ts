/** Counts failures into their groups (model/errors/groups.ts). */
import type { Store } from '../../store/store.ts'

/** Failures in one transaction. */
const CHUNK = 1_000

/** Until none is left. `wait` false: not while another process is counting. */
export async function countFailures(
  { errorGroups }: Pick<Store, 'errorGroups'>,
  { wait, isClosed = () => false }: { readonly wait: boolean; readonly isClosed?: () => boolean },
): Promise<void> {
  while (!isClosed() && (await errorGroups.count({ limit: CHUNK, wait })) === CHUNK);
}
