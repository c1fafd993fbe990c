import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InstanceRow, RunRow } from '../../src/model/rows.ts'
import type { PostgresStore } from '../../src/store/postgres/store.ts'
import type { Loaded, Need } from '../../src/store/store.ts'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { aLeasedRun, aLimit, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { put } from './subject.ts'

/** A transaction that finds all it needs in memory decides once; one whose memory was stale decides a second time. */
describe.skipIf(postgresUrl() === null)('postgres: decided on remembered rows', () => {
  let subject: PostgresSubject
  let instance: InstanceRow
  let run: RunRow
  beforeEach(async () => {
    subject = await postgresSubject()
    instance = anInstance({ fires: 1 })
    run = aLeasedRun({ ...aStep(instance, 'a'), sessionId: newId(), status: 'leased', epoch: 1, leasedAt: T0 })
    await put(subject.store, {
      instances: { insert: [instance] },
      runs: { insert: [run] },
      slots: { put: [{ instanceId: instance.id, key: 'c:a', value: '1' }] },
    })
  })
  afterEach(() => subject.close())

  /** Settles the run as an engine would, and tells what each decision was based on. */
  async function settle(
    store: PostgresStore,
    more: Need = {},
    look: (loaded: Loaded) => void = () => {},
  ): Promise<
    { readonly fires: number; readonly slot: string | null | undefined; readonly status: string | undefined }[]
  > {
    const decisions: { fires: number; slot: string | null | undefined; status: string | undefined }[] = []
    const slots = [{ instanceId: instance.id, keys: ['c:a', 'c:none'] }]
    const need = {
      runs: [run.id],
      instances: [instance.id],
      slots,
      queues: ['default'],
      limits: ['queue:default'],
      ...more,
    }
    await store.transact({
      roots: [instance.id],
      wait: true,
      need,
      decide: (loaded: Loaded) => {
        look(loaded)
        const row = loaded.instances.get(instance.id) as InstanceRow
        const held = loaded.runs.get(run.id)
        expect(loaded.slots.get(`${instance.id}/c:none`)).toBeNull()
        const slot = loaded.slots.get(`${instance.id}/c:a`)
        decisions.push({ fires: row.fires, slot, status: held?.status })
        return {
          delta: {
            instances: { update: [{ ...row, fires: row.fires + 1, eventSeq: row.eventSeq + 1 }] },
            ...(held === undefined ? {} : { runs: { update: [{ ...held, epoch: held.epoch + 1 }] } }),
            slots: { put: [{ instanceId: instance.id, key: 'c:a', value: String(Number(slot) + 1) }] },
          },
          result: null,
        }
      },
    })
    return decisions
  }

  it('goes on from what it wrote itself, again and again', async () => {
    const { store, foreign } = subject
    expect(await settle(store)).toEqual([{ fires: 1, slot: '1', status: 'leased' }])
    expect(await settle(store)).toEqual([{ fires: 2, slot: '2', status: 'leased' }])
    expect(await settle(store)).toEqual([{ fires: 3, slot: '3', status: 'leased' }])
    const { rows } = await foreign.query('SELECT fires FROM workflow_instance WHERE id = $1', [instance.id])
    expect(rows).toEqual([{ fires: 4 }])
    const epochs = await foreign.query('SELECT epoch FROM workflow_run WHERE id = $1', [run.id])
    expect(epochs.rows).toEqual([{ epoch: 4 }])
  })

  it('asks what waits in the queue along with its writes: the answer is there after the commit', async () => {
    const { store } = subject
    const nextUrgency = [{ queues: null, types: null, tenant: null, runtime: null }]
    const seen: Loaded[] = []
    const told: unknown[] = []
    const look = (loaded: Loaded): void => {
      seen.push(loaded)
      told.push(loaded.nextUrgency[0])
    }
    await settle(store, { nextUrgency }, look)
    await put(await subject.open(), { runs: { insert: [aRun({ priority: 7, runAt: T0 - 1_000 })] } })
    await settle(store, { nextUrgency }, look)
    // Once each: nothing was loaded before the decision.
    expect(told).toEqual([undefined, undefined])
    expect(seen.map((loaded) => loaded.nextUrgency)).toEqual([[null], [7]])
  })

  it('is refused when another process changed the instance, and decides on what is there', async () => {
    const { store } = subject
    const other = await subject.open()
    await settle(other)
    expect(await settle(store)).toEqual([
      { fires: 1, slot: '1', status: 'leased' },
      { fires: 2, slot: '2', status: 'leased' },
    ])
    expect(await settle(other)).toEqual([
      { fires: 2, slot: '2', status: 'leased' },
      { fires: 3, slot: '3', status: 'leased' },
    ])
  })

  it('is refused when only a slot was changed: its writer touches the instance', async () => {
    const { store } = subject
    const other = await subject.open()
    await put(other, { slots: { put: [{ instanceId: instance.id, key: 'c:a', value: '7' }] } })
    expect(await settle(store)).toEqual([
      { fires: 1, slot: '1', status: 'leased' },
      { fires: 1, slot: '7', status: 'leased' },
    ])
  })

  it('is refused when the registry was changed, by whomever, and remembers what it says from then on', async () => {
    const { store, foreign } = subject
    const said: unknown[] = []
    const settleSaying = async (): Promise<unknown[]> => {
      said.length = 0
      await settle(store, {}, (loaded) => said.push(loaded.listing('a.v1')))
      return [...said]
    }
    expect(await settleSaying()).toEqual([null])
    await foreign.query(`INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('a.v1', 'go')`)
    const go = { runtime: 'go', enabled: true }
    expect(await settleSaying()).toEqual([null, go])
    expect(await settleSaying()).toEqual([go])
    await foreign.query(`UPDATE workflow_registry SET is_enabled = false`)
    expect(await settleSaying()).toEqual([go, { runtime: 'go', enabled: false }])
    await foreign.query('TRUNCATE workflow_registry')
    expect(await settleSaying()).toEqual([{ runtime: 'go', enabled: false }, null])
    expect(await settleSaying()).toEqual([null])
  })

  it('is refused when a foreign client wrote the run, by plain SQL', async () => {
    const { store, foreign } = subject
    await foreign.query(`UPDATE workflow_run SET status = 'cancelled' WHERE id = $1`, [run.id])
    expect(await settle(store)).toEqual([
      { fires: 1, slot: '1', status: 'leased' },
      { fires: 1, slot: '1', status: 'cancelled' },
    ])
  })

  it('is refused when the run is gone', async () => {
    const { store, foreign } = subject
    // replica: the trigger that refuses it has no say in it.
    await foreign.query(
      `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM workflow_run WHERE id = '${run.id}'; COMMIT`,
    )
    expect(await settle(store)).toEqual([
      { fires: 1, slot: '1', status: 'leased' },
      { fires: 1, slot: '1', status: undefined },
    ])
  })

  it('is refused when a queue was paused or a limit set meanwhile; while they last it asks at once', async () => {
    const { store } = subject
    const other = await subject.open()
    await put(other, { queues: [{ name: 'default', paused: true }] })
    expect(await settle(store)).toHaveLength(2)
    expect(await settle(store)).toHaveLength(1)
    await put(other, { queues: [{ name: 'default', paused: false }], limits: [aLimit('queue:default')] })
    await settle(store)
    let limits = 0
    await store.transact({
      roots: [],
      wait: true,
      need: { limits: ['queue:default'] },
      decide: (loaded) => {
        limits = loaded.limits.size
        return { delta: { queues: [{ name: 'b', paused: false }] }, result: null }
      },
    })
    expect(limits).toBe(1)
  })

  it('does not wait for a row that somebody holds: it loads, and waits there', async () => {
    const { store, foreign } = subject
    await foreign.query('BEGIN')
    await foreign.query('UPDATE workflow_instance SET fires = 5 WHERE id = $1', [instance.id])
    const settled = settle(store)
    await new Promise((resolve) => setTimeout(resolve, 100))
    await foreign.query('COMMIT')
    expect(await settled).toEqual([
      { fires: 1, slot: '1', status: 'leased' },
      { fires: 5, slot: '1', status: 'leased' },
    ])
  })

  it('asks for everything when something of the need is never remembered', async () => {
    const { store } = subject
    expect(await settle(store, { gates: [newId()] })).toEqual([{ fires: 1, slot: '1', status: 'leased' }])
  })
})
