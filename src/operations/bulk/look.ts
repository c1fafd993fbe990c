/** Reads bulk operations. Those of other tenants do not exist for a caller. */
import { missing } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import type { ItemState, Operation, OperationItemRow, OperationState } from '../../model/bulk/rows.ts'
import { maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'

const LOOKING = { scope: 'read' } as const

interface ById {
  readonly id: string
}

export async function findOperation({ engine, caller }: Use, given: string): Promise<Operation> {
  const id = readId(given)
  const found = id === null ? null : await engine.bulk.get(id)
  if (found === null || !maySee(caller, found)) throw missing('bulk operation', given)
  return found
}

export const showBulkOperation = operation(LOOKING, (use, { id }: ById): Promise<Operation> => findOperation(use, id))

export interface OperationsAsked {
  readonly states: readonly OperationState[] | null
  readonly limit: number
  readonly before: string | null
}

/** Newest first. */
export const listBulkOperations = operation(
  LOOKING,
  ({ engine, caller: { tenant } }, asked: OperationsAsked): Promise<Page<Operation>> =>
    pageOf(asked.limit, (limit) => engine.bulk.list({ ...asked, tenant, limit })),
)

export interface ItemsAsked extends ById {
  readonly state: ItemState | null
  readonly limit: number
  readonly before: string | null
}

/** Newest first. */
export const listBulkItems = operation(
  LOOKING,
  async (use, { id, ...asked }: ItemsAsked): Promise<Page<OperationItemRow>> => {
    const { id: operationId } = await findOperation(use, id)
    return pageOf(asked.limit, (limit) => use.engine.bulk.items({ ...asked, operationId, limit }))
  },
)
