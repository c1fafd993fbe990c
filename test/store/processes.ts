import { expect, it } from 'vitest'
import type { Loaded, Store, Wake } from '../../src/store/store.ts'
import { anInstance, aRun, T0 } from './rows.ts'
import { put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

/** The next wake; a test that gets none runs into its timeout. */
function nextWake(store: Store): { readonly wake: Promise<Wake>; stop(): void } {
  let stop = () => {}
  const wake = new Promise<Wake>((resolve) => {
    stop = store.onWake(resolve)
  })
  return { wake, stop: () => stop() }
}

export function processTopic(current: Current): void {
  it('shares one clock', async () => {
    const { store, second } = current()
    const other = await second()
    await setClock(store, 7_200_000)
    expect(Math.abs((await other.now()) - T0 - 7_200_000)).toBeLessThan(5_000)
    const now = await other.transact({
      roots: [],
      wait: true,
      need: {},
      decide: (loaded) => ({ delta: {}, result: loaded.now }),
    })
    expect(Math.abs(now - T0 - 7_200_000)).toBeLessThan(5_000)
  })

  it('loses no update of two processes on one instance', async () => {
    const { store, second } = current()
    const other = await second()
    const instance = anInstance({ fires: 0 })
    await put(store, { instances: { insert: [instance] } })
    const decide = (loaded: Loaded) => {
      const row = loaded.instances.get(instance.id)!
      return { delta: { instances: { update: [{ ...row, fires: row.fires + 1 }] } }, result: null }
    }
    const work = async (on: Store) => {
      for (let count = 0; count < 25; count++) {
        await on.transact({ roots: [instance.id], wait: true, need: { instances: [instance.id] }, decide })
      }
    }
    await Promise.all([work(store), work(other)])
    expect((await store.read.instance(instance.id))!.fires).toBe(50)
  })

  it('wakes when another process has committed and said so', async () => {
    const { store, second } = current()
    const other = await second()
    const { wake, stop } = nextWake(store)
    await put(other, { runs: { insert: [aRun()] } })
    other.wake({ queues: ['default'] })
    const heard = await wake
    // A store that cannot tell what changed says nothing at all: look everywhere.
    expect(heard.queues ?? ['default']).toEqual(['default'])
    stop()
  })

  it('stops listening when told to', async () => {
    const { store, second } = current()
    const other = await second()
    let heard = 0
    const stop = store.onWake(() => heard++)
    stop()
    const { wake, stop: stopOther } = nextWake(store)
    await put(other, { runs: { insert: [aRun()] } })
    other.wake({ queues: ['default'] })
    await wake
    stopOther()
    expect(heard).toBe(0)
  })

  it('refuses to work once closed', async () => {
    const store = await current().second()
    await store.close()
    await expect(put(store, { runs: { insert: [aRun()] } })).rejects.toMatchObject({ name: 'StoreUnavailableError' })
    await store.close()
  })
}
