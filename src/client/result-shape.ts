/** The shape of the value of a workflow, in the words of its notation. */
import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import { projectionOf } from '../notations/notations.ts'
import type { Shape } from '../worker/shape.ts'

/** null: its value is its results by node. */
export async function shapeOfInstance(engine: EngineApi, id: string): Promise<Shape> {
  const row = await engine.queries.instance(id)
  if (row === null) throw new PetrelError('not_found', `there is no workflow ${id}`)
  return (await projectionOf(row).result?.(engine, row)) ?? null
}
