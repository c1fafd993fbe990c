/** Subscriptions to events. A caller with a tenant has those of its tenant, which receive its events only. */
import { randomBytes } from 'node:crypto'
import { missing, PetrelError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import { DEFAULT_ATTEMPTS, DEFAULT_TIMEOUT_MS, type WebhookRow, type WebhookSettings } from '../../model/webhooks.ts'
import { actorOf, type Caller, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'

export const OWNERS = { scope: 'admin' } as const

/** Of one tenant. */
const MOST = 1000

export interface ById {
  readonly id: string
}

type Owned = Omit<WebhookSettings, 'secret' | 'oldSecret' | 'oldSecretUntil'>

/** Oldest first. */
export const listSubscriptions = operation(
  OWNERS,
  ({ engine, caller: { tenant } }, _: null): Promise<readonly WebhookRow[]> => engine.records.webhooks.list({ tenant }),
)

export const showSubscription = operation(OWNERS, (use, { id }: ById): Promise<WebhookRow> => findSubscription(use, id))

/** `secret` null: one is generated. */
export const subscribe = operation(
  OWNERS,
  async (
    { engine, caller },
    { secret, ...settings }: Pick<Owned, 'url' | 'events'> & Partial<Owned> & { readonly secret: string | null },
  ): Promise<WebhookRow> => {
    const { webhooks } = engine.records
    const [existing, now, cursor] = await Promise.all([
      webhooks.list({ tenant: null }),
      engine.queries.now(),
      // It receives events from now on.
      engine.queries.feedEnd(),
    ])
    refuseTooMany(existing, caller)
    const row = {
      ...DEFAULTS,
      ...settings,
      secret: secret ?? newSecret(),
      id: `sub_${newId()}`,
      tenant: caller.tenant,
      createdBy: actorOf(caller),
      createdAt: now,
      updatedAt: now,
      cursor,
    }
    await webhooks.add(row)
    return row
  },
)

export const changeSubscription = operation(
  OWNERS,
  async (use, { id: name, set }: ById & { readonly set: Partial<Owned> }): Promise<WebhookRow> => {
    const { id, active } = await findSubscription(use, name)
    // Events during the time in which it was stopped are not sent.
    const resumed = set.active === true && !active ? { cursor: await use.engine.queries.feedEnd() } : {}
    return update(use, id, { ...set, ...resumed })
  },
)

/** With its deliveries, including pending ones. */
export const unsubscribe = operation(OWNERS, async (use, { id: name }: ById): Promise<ById> => {
  const { id } = await findSubscription(use, name)
  await use.engine.records.webhooks.remove(id)
  return { id }
})

export interface Rotated {
  readonly row: WebhookRow
  readonly oldUntil: number
}

/** `secret` null: one is generated. The old one is valid for `graceMs` more. */
export const rotateSecret = operation(
  OWNERS,
  async (
    use,
    { id: name, secret, graceMs }: ById & { readonly secret: string | null; readonly graceMs: number },
  ): Promise<Rotated> => {
    const { id, secret: oldSecret } = await findSubscription(use, name)
    const oldUntil = (await use.engine.queries.now()) + graceMs
    const set = { secret: secret ?? newSecret(), oldSecret, oldSecretUntil: oldUntil }
    return { row: await update(use, id, set), oldUntil }
  },
)

export async function findSubscription({ engine, caller }: Use, id: string): Promise<WebhookRow> {
  const row = await engine.records.webhooks.find(id)
  if (row === null || !maySee(caller, row)) throw missing('webhook subscription', id)
  return row
}

async function update(
  { engine }: Use,
  id: string,
  set: Partial<WebhookSettings> & { readonly cursor?: number },
): Promise<WebhookRow> {
  const row = await engine.records.webhooks.update({ id, set })
  if (row === null) throw missing('webhook subscription', id)
  return row
}

/** Counted per tenant: none can use up the capacity of the others. */
function refuseTooMany(existing: readonly WebhookRow[], caller: Caller): void {
  if (existing.filter(({ tenant }) => tenant === caller.tenant).length < MOST) return
  throw new PetrelError('conflict', `there are ${MOST} subscriptions, and no more are accepted`, {
    hint: 'Delete those that are not needed, or fan out behind one receiver.',
  })
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`
}

const DEFAULTS = {
  queues: null,
  jobTypes: null,
  oldSecret: null,
  oldSecretUntil: null,
  active: true,
  ordered: false,
  timeoutMs: DEFAULT_TIMEOUT_MS,
  maxAttempts: DEFAULT_ATTEMPTS,
  metadata: null,
  failures: 0,
  lastAt: null,
  lastStatus: null,
  leaseBy: null,
  leaseUntil: null,
}
