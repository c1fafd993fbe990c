/** Sent and pending deliveries to subscriptions. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import type { DeliveryHead, DeliveryRow } from '../../model/webhooks.ts'
import { maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { type ById, findSubscription, OWNERS } from './subscriptions.ts'

/** Of one subscription, newest event first. `state` null: in any state. */
export const listDeliveries = operation(
  OWNERS,
  async (
    use,
    {
      id,
      state,
      limit,
      offset,
    }: ById & { readonly state: DeliveryRow['state'] | null; readonly limit: number; readonly offset: number },
  ): Promise<Page<DeliveryHead>> => {
    const { id: webhookId } = await findSubscription(use, id)
    return pageOf(limit, (most) => use.engine.records.webhooks.log({ webhookId, state, limit: most, offset }))
  },
)

export const showDelivery = operation(OWNERS, (use, { id }: ById): Promise<DeliveryRow> => find(use, id))

/** Sends a delivered or dead one again, with all its attempts. */
export const retryDelivery = operation(OWNERS, async (use, { id: name }: ById): Promise<DeliveryRow> => {
  const { id, state } = await find(use, name)
  if (state === 'pending') throw new PetrelError('conflict', `delivery ${id} is pending already`)
  const row = await use.engine.records.webhooks.again(id)
  if (row === null) throw missing('webhook delivery', id)
  return row
})

async function find({ engine, caller }: Use, id: string): Promise<DeliveryRow> {
  const row = await engine.records.webhooks.delivery(id)
  const owner = row === null ? null : await engine.records.webhooks.find(row.webhookId)
  if (row === null || owner === null || !maySee(caller, owner)) throw missing('webhook delivery', id)
  return row
}
