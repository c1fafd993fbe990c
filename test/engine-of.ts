import * as client from '../src/client/engine-of.ts'
import type { Engine } from '../src/engine/engine.ts'
import type { Petrel } from '../src/index.ts'

/** The engine of a Petrel, with its store: tests move its clock and read internal state. */
export function engineOf(petrel: Petrel): Engine {
  return client.engineOf(petrel) as Engine
}
