/** An engine that is driven by hand, and foreign clients beside it on the same database. */
import type { EngineOptions } from '../../src/engine/api.ts'
import { Engine } from '../../src/engine/engine.ts'
import type { RunRow, StoredEvent } from '../../src/model/rows.ts'
import { openStore } from '../../src/store/open.ts'
import { Drive, type Place } from '../engine/drive.ts'
import { Foreign } from './foreign.ts'

/** Sessions last as long as the test needs. */
const LASTING = { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 }
/** So that nothing immediate happens because of the poll. */
export const NEVER_MS = 600_000

export class Stage {
  readonly d: Drive
  readonly url: string
  readonly #closing: (() => Promise<void>)[] = []

  private constructor(d: Drive, url: string) {
    this.d = d
    this.url = url
  }

  /** The engine sweeps only on request, unless the options say otherwise. */
  static async open(place: Place, options: Partial<EngineOptions> = {}): Promise<Stage> {
    const shared = await place.open()
    const d = await Drive.open({ name: place.name, open: async () => shared }, { ...LASTING, ...options })
    return new Stage(d, shared.url)
  }

  async foreign(): Promise<Foreign> {
    const foreign = await Foreign.connect(this.url)
    this.#closing.push(() => foreign.close())
    return foreign
  }

  /** The engine of another process, with a separate store. */
  async second(options: Partial<EngineOptions> = {}): Promise<Engine> {
    const store = await openStore(this.url)
    const engine = await Engine.open({ store, ...LASTING, ...options })
    this.#closing.push(async () => {
      await engine.close()
      await store.close()
    })
    return engine
  }

  async run(id: string): Promise<RunRow> {
    return (await this.d.store.read.run(id)) as RunRow
  }

  async runAt(instanceId: string, node: string, item = -1): Promise<RunRow> {
    const view = await this.d.engine.view(instanceId)
    return view?.runs.filter((run) => run.node === node && run.item === item).at(-1) as RunRow
  }

  async history(id: string): Promise<string[]> {
    return (await this.d.store.read.runHistory(id)).map((event) => event.type)
  }

  /** The data of the last event of a run. */
  async lastRecorded(
    id: string,
  ): Promise<{ readonly type: string; readonly data: unknown; readonly seq: number | null }> {
    const { type, data, seq } = (await this.d.store.read.runHistory(id)).at(-1) as StoredEvent
    return { type, data: data === null ? null : JSON.parse(data), seq }
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close()
    await this.d.close()
  }
}

/** Waits for the effects of other connections. */
export async function eventually(
  look: () => Promise<boolean> | boolean,
  what: string,
  withinMs = 10_000,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await look())) {
    if (performance.now() > giveUpAt) throw new Error(`did not happen: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
