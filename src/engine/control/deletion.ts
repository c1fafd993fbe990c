/** Deletes instances: an ended tree is removed with everything that belongs to it, as retention would remove it later. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import type { InstanceRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Store } from '../../store/store.ts'
import { bulkOf } from '../fold/bulk/operations.ts'
import type { Transactor } from '../transaction/transactor.ts'

/** The runs that one transaction removes at most; of a larger tree the others are removed before, in portions. */
const PORTION = 1_000

export interface DeletionDeps {
  readonly store: Store
  readonly transactor: Pick<Transactor, 'run'>
}

export async function deleteInstance({ store, transactor }: DeletionDeps, id: string): Promise<void> {
  refuseLive(await store.read.instance(id), id)
  const member = await store.bulk.openMember(id)
  if (member !== null) {
    const problem = `instance ${id} has a nested one that has not ended, ${member}; cancel it first`
    throw new PetrelError('conflict', problem, { kind: 'instance', id })
  }
  while ((await store.bulk.trim({ rootId: id, limit: PORTION })) > 0);
  await transactor.run({
    roots: [id],
    wait: true,
    need: { instances: [id] },
    fold: (change) => {
      refuseLive(change.loaded.instances.get(id) ?? null, id)
      bulkOf(change).trees.add(id)
    },
  })
}

function refuseLive(row: InstanceRow | null, id: string): void {
  if (row === null) throw missing('instance', id)
  const { state, parentId, rootId } = row
  const facts = { kind: 'instance', id, status: state } as const
  if (!TERMINAL.has(state)) {
    throw new PetrelError('conflict', `instance ${id} is still ${state}; cancel it first`, facts)
  }
  if (parentId !== null) throw new PetrelError('conflict', `instance ${id} is nested; delete its root ${rootId}`, facts)
}
