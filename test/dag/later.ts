import { expect } from 'vitest'
import { petrelOn } from '../../src/client/petrel.ts'
import { Engine } from '../../src/engine/engine.ts'
import type { Petrel } from '../../src/index.ts'
import { openStore } from '../../src/store/open.ts'

/** An ordinary process, which polls its own clock. */
export class Later {
  readonly engine: Engine
  /** The arguments its workers received, in order. */
  readonly done: string[] = []
  readonly #petrel: Petrel

  private constructor(engine: Engine) {
    this.engine = engine
    this.#petrel = petrelOn(engine)
  }

  static async open(url: string): Promise<Later> {
    const store = await openStore(url)
    return new Later(await Engine.open({ store, pollMs: 20 }))
  }

  async ended(id: string): Promise<unknown> {
    await this.engine.ended({ id, kind: 'instance' })
    return (await this.engine.view(id))?.instance
  }

  async state(id: string, wanted: string): Promise<void> {
    await expect.poll(async () => (await this.engine.view(id))?.instance.state, { timeout: 10_000 }).toBe(wanted)
  }

  /** Waits until all due work has been done. */
  async settled(): Promise<void> {
    await this.engine.sweep()
    await this.engine.sweep()
  }

  /** Works until the instance has ended; due work before that has been done. */
  async work(id: string): Promise<unknown> {
    await this.settled()
    const handler = (_: unknown, ctx: { role: string; node: string | null }): unknown => {
      this.done.push(`${ctx.role === 'undo' ? 'undo ' : ''}${ctx.node}`)
      return {}
    }
    for (const type of ['work', 'undo']) this.#petrel.handle(type, handler)
    await this.#petrel.work({ pollMs: 20 })
    return this.ended(id)
  }

  async close(): Promise<void> {
    await this.#petrel.close({ graceMs: 0 })
    await this.engine.close()
    await this.engine.store.close()
  }
}
