/** Definitions read and planned: small ones in this thread, large ones in a separate one. */
import type { EngineApi } from '../../engine/api.ts'
import { readInPlace } from '../../notations/read.ts'
import type { Definition } from '../../notations/source/definition.ts'
import type { ReadOptions } from '../../notations/source/named-definitions.ts'
import { inThread, unlessLarge } from './thread.ts'

/** In its stored form. */
export interface PlannedDefinition extends Omit<Definition, 'start'> {
  readonly tags: readonly string[]
  readonly planned: ReturnType<EngineApi['planDefinition']>
}

/** `file` is only used in errors. */
export async function readDefinition(file: string, text: string, options: ReadOptions = {}): Promise<Definition> {
  return unlessLarge(text, options, {
    here: (bounded) => readInPlace(file, text, bounded),
    inThread: async () => (await inThread(file, text, options, null)).definition,
  })
}

/** Refuses everything that a start would refuse. */
export async function planDefinition(
  file: string,
  text: string,
  options: ReadOptions,
  engine: Pick<EngineApi, 'planDefinition' | 'startLimits'>,
): Promise<PlannedDefinition> {
  return unlessLarge(text, options, {
    here: async (bounded) => planned(await readInPlace(file, text, bounded), (start) => engine.planDefinition(start)),
    inThread: async () => (await inThread(file, text, options, engine.startLimits)).planned,
  })
}

export function planned({ start, ...about }: Definition, plan: EngineApi['planDefinition']): PlannedDefinition {
  return { ...about, tags: start.tags ?? [], planned: plan(start) }
}
