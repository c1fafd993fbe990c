/** Changes of a bulk operation that has been ordered: stop, resume, another rate. */
import type { Operation } from '../../model/bulk/rows.ts'
import { actorOf } from '../caller.ts'
import { operation } from '../operation.ts'
import { findOperation } from './look.ts'
import { checkRate } from './orders.ts'

const CHANGING = { scope: 'admin' } as const

interface ById {
  readonly id: string
}

/** Actions that are being performed end; no further one begins. */
export const stopBulkOperation = operation(CHANGING, async (use, { id: given }: ById): Promise<Operation> => {
  const { id } = await findOperation(use, given)
  return use.engine.bulk.change({ id, state: 'stopped', actor: actorOf(use.caller) })
})

export const resumeBulkOperation = operation(CHANGING, async (use, { id: given }: ById): Promise<Operation> => {
  const { id } = await findOperation(use, given)
  return use.engine.bulk.change({ id, state: 'running', actor: actorOf(use.caller) })
})

/** null: no limit. */
export const paceBulkOperation = operation(
  CHANGING,
  async (use, { id: given, rate }: ById & { readonly rate: number | null }): Promise<Operation> => {
    checkRate(rate)
    const { id } = await findOperation(use, given)
    return use.engine.bulk.change({ id, rate, actor: actorOf(use.caller) })
  },
)
