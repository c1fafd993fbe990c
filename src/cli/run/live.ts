/**
 * One definition on a real store, with the handlers of a module executed in this process until it ends or only waits.
 */

import type { EngineApi } from '../../engine/api.ts'
import type { Json } from '../../net/net.ts'
import type { Definition } from '../../notations/source/definition.ts'
import type { Handlers } from '../../worker/handlers.ts'
import { actor } from '../lookup.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { follow, pause } from './follow.ts'
import { type Wait, waitsOf } from './waits.ts'

const LOOK_MS = 100

export interface LiveRun {
  readonly engine: EngineApi
  readonly terminal: Terminal
  readonly definition: Definition
  readonly input: Json | null
  readonly handlers: Handlers | null
  /** true: continues while it only waits. */
  readonly wait: boolean
  readonly signal: AbortSignal
}

export interface LiveEnd {
  readonly id: string
  readonly waits: readonly Wait[]
}

export async function liveRun(params: LiveRun): Promise<LiveEnd> {
  const { engine, terminal, definition, input, handlers } = params
  const { Worker } = await import('../../worker/worker.ts')
  const worker = handlers === null ? null : await Worker.start(engine.workers, { handlers })
  const done = new AbortController()
  const signal = AbortSignal.any([params.signal, done.signal])
  try {
    const asked = { ...definition.start, ...(input === null ? {} : { input }), initiator: actor() }
    const [started] = await engine.start([asked])
    const { id } = started as { readonly id: string }
    const waiting = params.wait ? null : untilItOnlyWaits(engine, id, signal)
    const following = follow({ reading: engine, terminal, id, signal })
    const waits = (await Promise.race([following.then(() => null), ...(waiting === null ? [] : [waiting])])) ?? []
    done.abort()
    await following
    await waiting
    return { id, waits }
  } finally {
    done.abort()
    await worker?.stop()
  }
}

/** Two looks must agree: between two reads of the first an outcome may have been recorded. */
async function untilItOnlyWaits(engine: EngineApi, id: string, signal: AbortSignal): Promise<readonly Wait[] | null> {
  let before: string | null = null
  while (!signal.aborted) {
    const waits = await waitsOf(engine, id)
    const now = waits === null || waits.length === 0 ? null : JSON.stringify(waits)
    if (now !== null && now === before) return waits
    before = now
    await pause(LOOK_MS)
  }
  return null
}
