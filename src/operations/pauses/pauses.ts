/** Pauses of instances, definitions and types, and the list of all pauses. */
import type { PausedInstance } from '../../engine/api.ts'
import type { PausedTimeouts, PausePosition, PauseRow } from '../../model/pauses/pauses.ts'
import { actorOf } from '../caller.ts'
import { findDefinition } from '../definitions/definitions.ts'
import { findInstance } from '../instances/find.ts'
import { operation } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'

interface ById {
  readonly id: string
}

/** Nothing of its tree begins any more; active work ends as usual. */
export const pauseInstance = operation(
  { scope: 'enqueue' },
  async (
    use,
    asked: ById & { readonly reason: string | null; readonly timeouts: PausedTimeouts },
  ): Promise<PausedInstance> => {
    const { id } = await findInstance(use, asked.id)
    return use.engine.pauseInstance({ ...asked, id, actor: actorOf(use.caller) })
  },
)

export const resumeInstance = operation({ scope: 'enqueue' }, async (use, asked: ById): Promise<PausedInstance> => {
  const { id } = await findInstance(use, asked.id)
  return use.engine.unpauseInstance({ id, actor: actorOf(use.caller) })
})

/** Of all kinds, newest first. A caller of a tenant sees those of its instances and definitions. */
export const listPauses = operation(
  { scope: 'read' },
  (
    { engine, caller: { tenant } },
    { limit, before }: { readonly limit: number; readonly before: PausePosition | null },
  ): Promise<Page<PauseRow>> => pageOf(limit, (most) => engine.pauses.list({ tenant, limit: most, before })),
)

interface Because {
  readonly name: string
  readonly reason: string | null
}

/** A definition of the caller's tenant: its new instances wait in the queue. */
export const pauseDefinition = operation(
  { scope: 'admin' },
  async (use, { name, reason }: Because): Promise<PauseRow> => {
    const found = await findDefinition(use, { name, version: null })
    const { tenant } = use.caller
    return use.engine.pauseDefinition({ name: found.name, tenant, reason, actor: actorOf(use.caller) })
  },
)

/** Also one that has been retired since: its instances are waiting. */
export const resumeDefinition = operation(
  { scope: 'admin' },
  async (use, { name }: Pick<Because, 'name'>): Promise<PauseRow> => {
    const { tenant } = use.caller
    try {
      return await use.engine.resumeDefinition({ name, tenant, actor: actorOf(use.caller) })
    } catch (error) {
      // Not paused, perhaps because there is no such definition.
      await findDefinition(use, { name, version: null })
      throw error
    }
  },
)

/** All tenants share the types. */
export const pauseType = operation(
  { scope: 'admin', shared: true },
  ({ engine, caller }, { name: type, reason }: Because): Promise<PauseRow> =>
    engine.pauseType({ type, reason, actor: actorOf(caller) }),
)

export const resumeType = operation(
  { scope: 'admin', shared: true },
  ({ engine, caller }, { name: type }: Pick<Because, 'name'>): Promise<PauseRow> =>
    engine.resumeType({ type, actor: actorOf(caller) }),
)
