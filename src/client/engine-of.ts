import type { EngineApi } from '../engine/api.ts'

const ENGINES = new WeakMap<object, EngineApi>()

/** The engine of a Petrel. It is no part of the public API: other entry points of the package use it. */
export function engineOf(petrel: object): EngineApi {
  const engine = ENGINES.get(petrel)
  if (engine === undefined) throw new TypeError('this is not a Petrel')
  return engine
}

export function keepEngine(petrel: object, engine: EngineApi): void {
  ENGINES.set(petrel, engine)
}
