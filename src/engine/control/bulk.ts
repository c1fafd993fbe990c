/** Orders bulk operations, and changes them while they run. */
import type { Operation, OperationItemRow, OperationParameters } from '../../model/bulk/rows.ts'
import { shownOperation } from '../../model/bulk/rows.ts'
import type { ItemQuery, OperationQuery } from '../../model/bulk/work.ts'
import type { Store } from '../../store/store.ts'
import { changeOperation, createOperation, type NewOperation, type OperationChange } from '../fold/bulk/operations.ts'
import { retryUntilStored } from '../transaction/retry-until-stored.ts'
import type { Transactor } from '../transaction/transactor.ts'

export interface BulkDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly newId: () => string
  /** A process may begin with an operation now. */
  readonly bulkDueAt: (at: number) => void
}

export type OperationOrder = Omit<NewOperation, 'id' | 'parameters'> & { readonly parameters: OperationParameters }

export interface BulkOperations {
  /** Selected is only what exists now. */
  create(order: OperationOrder): Promise<Operation>
  /** Stops or resumes it, or changes its rate. After a stop only actions end that are being performed. */
  change(change: OperationChange): Promise<Operation>
  get(id: string): Promise<Operation | null>
  list(query: OperationQuery): Promise<readonly Operation[]>
  items(query: ItemQuery): Promise<readonly OperationItemRow[]>
}

export function bulkOperationsOn({ store, transactor, newId, bulkDueAt }: BulkDeps): BulkOperations {
  const { bulk } = store
  return {
    create: async ({ parameters, ...order }) => {
      const id = newId()
      const asked = { ...order, id, parameters: JSON.stringify(parameters) }
      // A commit whose outcome was unknown may have stored it.
      const { value } = await retryUntilStored(() =>
        transactor.run({
          roots: [],
          wait: true,
          need: { bulk: [{ kind: 'operation', id }] },
          fold: (change) => change.loaded.bulk?.operations.get(id) ?? createOperation(change, asked),
        }),
      )
      bulkDueAt(value.createdAt)
      return shownOperation(value, { succeeded: 0, refused: 0, failed: 0 })
    },
    change: async (asked) => {
      const { id } = asked
      const need = { bulk: [{ kind: 'operation', id }] } as const
      const { value } = await transactor.run({ roots: [], wait: true, need, fold: (c) => changeOperation(c, asked) })
      if (value.dueAt !== null) bulkDueAt(value.dueAt)
      return (await bulk.get(id)) ?? shownOperation(value, { succeeded: 0, refused: 0, failed: 0 })
    },
    get: (id) => bulk.get(id),
    list: (query) => bulk.list(query),
    items: (query) => bulk.items(query),
  }
}
