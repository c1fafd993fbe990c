/** Opens a store, and an engine on it. Both are loaded when they are needed. */

import type { EngineOptions } from '../engine/api.ts'
import type { Engine } from '../engine/engine.ts'

export interface OpenOptions extends Omit<EngineOptions, 'store' | 'closeStore' | 'vocabularies'> {
  /** false: the schema must already exist. Default true. */
  readonly migrate?: boolean
}

/** The engine closes the store when it is closed. */
export async function openEngine(url: string, options: OpenOptions = {}): Promise<Engine> {
  const { migrate = true, ...engineOptions } = options
  const { openStore } = await import('../store/open.ts')
  const store = await openStore(url)
  try {
    // The engine is loaded while a server migrates.
    const [, { Engine }, { VOCABULARIES }] = await Promise.all([
      migrate ? store.migrate() : null,
      import('../engine/engine.ts'),
      import('../notations/vocabularies.ts'),
    ])
    return await Engine.open({ ...engineOptions, vocabularies: VOCABULARIES, store, closeStore: true })
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
}
