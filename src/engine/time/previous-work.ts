/** What a schedule made before: whether it has ended, and its cancellation. */
import { PetrelError } from '../../kernel/errors.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Store } from '../../store/store.ts'
import type { Control } from '../control/instances.ts'
import type { RunControl } from '../control/runs.ts'

interface Deps {
  readonly store: Store
  readonly control: Control
  readonly runControl: RunControl
}

export class PreviousWork {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** `id`: of a run or an instance; null: it has made nothing. */
  async isLive(id: string | null): Promise<boolean> {
    if (id === null) return false
    const { read } = this.#deps.store
    const instance = await read.instance(id)
    if (instance !== null) return !TERMINAL.has(instance.state)
    const run = await read.run(id)
    return run !== null && (run.status === 'pending' || run.status === 'leased')
  }

  async cancel(id: string, actor: string): Promise<void> {
    const { store, control, runControl } = this.#deps
    const instance = await store.read.instance(id)
    const cancel = instance === null ? runControl.cancel({ id, actor }) : control.cancelInstance({ id, actor })
    await cancel.catch((error: unknown) => {
      if (!(error instanceof PetrelError && error.code === 'conflict')) throw error
    })
  }
}
