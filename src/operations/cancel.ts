/** An instance is cancelled as its notation has it, whichever way the request comes: HTTP, the command line, a program. */
import type { EngineApi } from '../engine/api.ts'
import type { InstanceRow } from '../model/rows.ts'
import { projectionOf } from '../notations/notations.ts'

export async function cancelInstance(
  engine: EngineApi,
  { id, actor }: { readonly id: string; readonly actor: string | null },
): Promise<InstanceRow> {
  const row = await engine.queries.instance(id)
  return engine.cancelInstance({ id, actor, undo: row !== null && projectionOf(row).cancel === 'undo' })
}
