import { expect, it } from 'vitest'
import type { Loaded } from '../../src/model/transaction.ts'
import type { Store, Wake } from '../../src/store/store.ts'
import { aLeasedRun, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { load, put, setClock } from './subject.ts'
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

  it('decides on the content of the database, whichever process changed it last', async () => {
    const { store, second, sql } = current()
    const other = await second()
    const instance = anInstance({ fires: 1 })
    const run = aLeasedRun({ ...aStep(instance, 'a'), sessionId: newId(), status: 'leased', epoch: 1, leasedAt: T0 })
    const slot = (value: string) => ({ instanceId: instance.id, key: 'c:a', value })
    const seen = async () => {
      const need = { runs: [run.id], instances: [instance.id], slots: [{ instanceId: instance.id, keys: ['c:a'] }] }
      const loaded = await load(store, need, [instance.id])
      const { status, startedAt, epoch } = loaded.runs.get(run.id)!
      return [
        status,
        startedAt,
        epoch,
        loaded.instances.get(instance.id)!.fires,
        loaded.slots.get(`${instance.id}/c:a`),
      ]
    }
    await put(store, { instances: { insert: [instance] }, runs: { insert: [run] }, slots: { put: [slot('1')] } })
    expect(await seen()).toEqual(['leased', null, 1, 1, '1'])
    // No start is dated later than the store's clock.
    await setClock(store, 1000)
    await store.sweep.started({ runs: [{ id: run.id, epoch: 1, at: T0 + 5 }] })
    expect(await seen()).toEqual(['leased', T0 + 5, 1, 1, '1'])
    await put(other, { instances: { update: [{ ...instance, fires: 2 }] }, slots: { put: [slot('2')] } })
    expect(await seen()).toEqual(['leased', T0 + 5, 1, 2, '2'])
    await sql(
      `UPDATE workflow_run SET status = 'cancelled', epoch = 7, engine_turn = NOT engine_turn WHERE id = '${run.id}'`,
    )
    expect(await seen()).toEqual(['cancelled', T0 + 5, 7, 2, '2'])
    const refused = {
      instances: { update: [{ ...instance, fires: 3 }], insert: [instance] },
      slots: { put: [slot('3')] },
    }
    await expect(put(store, refused)).rejects.toThrow()
    expect(await seen()).toEqual(['cancelled', T0 + 5, 7, 2, '2'])
  })

  it('wakes when another process has committed and notified it', async () => {
    const { store, second } = current()
    const other = await second()
    const { wake, stop } = nextWake(store)
    await put(other, { runs: { insert: [aRun()] } })
    other.wake({ queues: ['default'] })
    const heard = await wake
    // A store that cannot name the change sends an empty wake: everything may have changed.
    expect(heard.queues ?? ['default']).toEqual(['default'])
    stop()
  })

  it('stops listening on request', async () => {
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
