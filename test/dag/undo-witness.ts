/** Reads the rows of a workflow and its nested workflows, and compares them with the oracle. */
import type { Engine } from '../../src/engine/engine.ts'
import type { RunRow } from '../../src/model/rows.ts'
import { type Flow, LawBroken } from './undo-oracle.ts'

const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'compensated'])

export class Witness {
  readonly #root: Flow
  /** Of the process that is alive now. */
  readonly #engine: () => Engine
  /** Undos in the order in which they were first seen. */
  readonly #met = new Map<Flow, string[]>()

  constructor(root: Flow, engine: () => Engine) {
    this.#root = root
    this.#engine = engine
  }

  rows(flow: Flow): Promise<readonly RunRow[]> {
    return this.#engine().store.read.instanceRuns({ instanceId: flow.id as string, limit: 1000, after: null })
  }

  async flowOf(id: string): Promise<Flow> {
    for (const flow of this.#root.all()) if (flow.id === null) await this.#meet(flow)
    const found = [...this.#root.all()].find((flow) => flow.id === id)
    if (found === undefined) throw new LawBroken(`work of an unknown instance: ${id}`)
    return found
  }

  async compare(): Promise<void> {
    for (const flow of this.#root.all()) {
      if (flow.id === null) await this.#meet(flow)
      this.#compareUndos(flow, await this.rows(flow))
      const state = (await this.#engine().store.read.instance(flow.id as string))?.state as string
      const right = flow.end === null ? !ENDS.has(state) : state === flow.end
      if (!right) throw new LawBroken(`the instance is ${state}, the oracle expects ${flow.end ?? flow.phase}`)
    }
  }

  async endedOnce(): Promise<void> {
    for (const flow of this.#root.all()) {
      const query = { instanceId: flow.id as string, afterId: 0, limit: 1000 }
      const { events } = await this.#engine().store.read.events(query)
      const ends = events.filter((e) => ENDS.has(e.type.replace('instance.', '')) && e.runId === null)
      if (ends.length !== 1) throw new LawBroken(`it ended ${ends.length} times: ${ends.map((e) => e.type).join(', ')}`)
    }
  }

  #compareUndos(flow: Flow, rows: readonly RunRow[]): void {
    const undos = rows.filter((r) => r.role === 'undo')
    const met = this.#met.get(flow) ?? []
    const fresh = undos.filter((r) => !met.includes(r.node as string)).map((r) => r.node as string)
    if (fresh.length > 1) throw new LawBroken(`several undos begin at once: ${fresh.join(', ')}`)
    met.push(...fresh)
    this.#met.set(flow, met)
    if (undos.length !== met.length) throw new LawBroken(`undone twice: ${undos.map((r) => r.node).join(', ')}`)
    if (met.join() !== flow.undone.join()) {
      throw new LawBroken(`undos: [${met.join(', ')}], the oracle expects [${flow.undone.join(', ')}]`)
    }
    const open = undos.filter((r) => r.status === 'pending' || r.status === 'leased').map((r) => r.node)
    if (open.join() !== (flow.undoing ?? '')) {
      throw new LawBroken(`undos under way: [${open.join(', ')}], the oracle expects [${flow.undoing ?? ''}]`)
    }
  }

  /** Finds the instance of a nested workflow. */
  async #meet(inner: Flow): Promise<void> {
    const view = await this.#engine().view(this.#root.id as string)
    const [name] = [...this.#root.nested].find(([, flow]) => flow === inner) as [string, Flow]
    const row = view?.children.find((child) => child.parentNode === name)
    if (row === undefined) throw new LawBroken(`nested workflow ${name} has not begun`)
    inner.id = row.id
  }
}
