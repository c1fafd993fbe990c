/** Changes to an instance: start an idle one, cancel, patch its context. repeat.ts has retries and forks. */
import type { EngineApi } from '../../engine/api.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { DefinitionStarted, StartDefinition } from '../../model/start.ts'
import type { Json } from '../../net/net.ts'
import { projectionOf } from '../../notations/notations.ts'
import { actorOf } from '../caller.ts'
import { operation } from '../operation.ts'
import { findInstance } from './find.ts'
import { type Given, given } from './given.ts'

export type StartAsked = Omit<StartDefinition, 'tenant' | 'actor'>

/** `row` null: it has been removed since. */
export interface StartMade extends DefinitionStarted {
  readonly row: InstanceRow | null
  readonly given: Given
}

/** Starts a deployed definition by its name. */
export const startDefinition = operation(
  { scope: 'enqueue' },
  async ({ engine, logger, caller }, asked: StartAsked): Promise<StartMade> => {
    const { Catalog } = await import('../definitions/catalog.ts')
    const catalog = new Catalog({ engine, logger })
    const made = await catalog.start({ ...asked, tenant: caller.tenant, actor: actorOf(caller) })
    const [row, origin] = await Promise.all([engine.queries.instance(made.id), given(engine, made.id)])
    return { ...made, row, given: origin }
  },
)

/** Starts an idle instance. */
export const startInstance = operation({ scope: 'enqueue' }, async (use, { id }: ById): Promise<InstanceRow> => {
  const row = await findInstance(use, id)
  return use.engine.startInstance({ id: row.id, actor: actorOf(use.caller) })
})

/** In the mode of its notation: completed work stays, or is undone. */
export const cancelInstance = operation({ scope: 'enqueue' }, async (use, { id }: ById): Promise<InstanceRow> => {
  const row = await findInstance(use, id)
  return cancelAsNotation(use.engine, row, actorOf(use.caller))
})

export const patchContext = operation(
  { scope: 'enqueue' },
  async (
    use,
    { id: name, set }: ById & { readonly set: { readonly [name: string]: Json } },
  ): Promise<{ readonly row: InstanceRow; readonly context: Given['context'] }> => {
    const { id } = await findInstance(use, name)
    const row = await use.engine.patchContext({ instanceId: id, set, actor: actorOf(use.caller) })
    return { row, context: (await given(use.engine, id)).context }
  },
)

interface ById {
  readonly id: string
}

export function cancelAsNotation(engine: EngineApi, row: InstanceRow, actor: string | null): Promise<InstanceRow> {
  return engine.cancelInstance({ id: row.id, actor, undo: projectionOf(row).cancel === 'undo' })
}
