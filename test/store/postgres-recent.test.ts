import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InstanceRow, RunRow } from '../../src/model/rows.ts'
import type { Loaded, Need } from '../../src/model/transaction.ts'
import { SLOT } from '../../src/net/slots.ts'
import type { PostgresStore } from '../../src/store/postgres/store.ts'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { aLeasedRun, aLimit, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { put } from './subject.ts'

/** A transaction that finds everything in the cache decides once; one whose cache was stale decides a second time. */
describe.skipIf(postgresUrl() === null)('postgres: decided from cached rows', () => {
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

  /** Settles the run as an engine would, and returns what each decision was based on. */
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

  it('continues from its own last write, repeatedly', async () => {
    const { store, foreign } = subject
    expect(await settle(store)).toEqual([{ fires: 1, slot: '1', status: 'leased' }])
    expect(await settle(store)).toEqual([{ fires: 2, slot: '2', status: 'leased' }])
    expect(await settle(store)).toEqual([{ fires: 3, slot: '3', status: 'leased' }])
    const { rows } = await foreign.query('SELECT fires FROM workflow_instance WHERE id = $1', [instance.id])
    expect(rows).toEqual([{ fires: 4 }])
    const epochs = await foreign.query('SELECT epoch FROM workflow_run WHERE id = $1', [run.id])
    expect(epochs.rows).toEqual([{ epoch: 4 }])
  })

  it('reads the front of the queue along with its writes: the answer is available after the commit', async () => {
    const { store } = subject
    const nextUrgency = [{ queues: null, types: null, tenant: null, runtime: null }]
    const seen: Loaded[] = []
    const recorded: unknown[] = []
    const look = (loaded: Loaded): void => {
      seen.push(loaded)
      recorded.push(loaded.nextUrgency[0])
    }
    await settle(store, { nextUrgency }, look)
    await put(await subject.open(), { runs: { insert: [aRun({ priority: 7, runAt: T0 - 1_000 })] } })
    await settle(store, { nextUrgency }, look)
    // Once each: nothing was loaded before the decision.
    expect(recorded).toEqual([undefined, undefined])
    expect(seen.map((loaded) => loaded.nextUrgency)).toEqual([[null], [7]])
  })

  it('is refused when another process changed the instance, and decides on the current rows', async () => {
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

  it('is refused when the registry was changed, by any client, and caches its content from then on', async () => {
    const { store, foreign } = subject
    const listed: unknown[] = []
    const settleSaying = async (): Promise<unknown[]> => {
      listed.length = 0
      await settle(store, {}, (loaded) => listed.push(loaded.listing('a.v1')))
      return [...listed]
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
    // replica: the trigger that refuses it is off.
    await foreign.query(
      `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM workflow_run WHERE id = '${run.id}'; COMMIT`,
    )
    expect(await settle(store)).toEqual([
      { fires: 1, slot: '1', status: 'leased' },
      { fires: 1, slot: '1', status: undefined },
    ])
  })

  it('is refused when a queue was paused or a limit set in the meantime; then it loads at once while they exist', async () => {
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

  it('does not wait for a row that another transaction holds: it loads, and waits there', async () => {
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

  describe('of rows that it only reads', () => {
    let others: readonly InstanceRow[]
    let held: readonly RunRow[]
    beforeEach(async () => {
      others = [anInstance({ fires: 0 }), anInstance({ fires: 0 })].sort((a, b) => (a.id < b.id ? -1 : 1))
      const holder = { sessionId: newId(), status: 'leased', epoch: 1, leasedAt: T0 } as const
      held = others.map((other) => aLeasedRun({ ...aStep(other, 'a'), ...holder }))
      await put(subject.store, {
        instances: { insert: others },
        runs: { insert: held },
        slots: { put: others.map(({ id }) => ({ instanceId: id, key: 'c:a', value: '1' })) },
      })
    })

    const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id)

    /** Writes the rows it read into a row of its own; returns what each decision was based on. */
    async function copy(
      need: Need,
      read: (loaded: Loaded) => unknown,
      {
        roots = [],
        unchanged = [],
      }: { readonly roots?: readonly string[]; readonly unchanged?: readonly string[] } = {},
    ): Promise<readonly unknown[]> {
      const seen: unknown[] = []
      await subject.store.transact({
        roots: [instance.id, ...roots],
        wait: true,
        need: { ...need, instances: [instance.id, ...(need.instances ?? [])] },
        decide: (loaded) => {
          const row = loaded.instances.get(instance.id) as InstanceRow
          const value = read(loaded)
          seen.push(value)
          return {
            delta: {
              instances: { update: [{ ...row, eventSeq: row.eventSeq + 1 }] },
              slots: { put: [{ instanceId: instance.id, key: 'c:copy', value: JSON.stringify(value ?? null) }] },
              runs: { update: unchanged.flatMap((id) => loaded.runs.get(id) ?? []) },
            },
            result: null,
          }
        },
      })
      const copied = await subject.store.read.slot({ instanceId: instance.id, key: SLOT.context.key('copy') })
      expect(copied).toBe(JSON.stringify(seen.at(-1) ?? null))
      return seen
    }

    const runs = (): Need => ({ runs: idsOf(held) })
    const attempts = (loaded: Loaded): unknown => held.map(({ id }) => loaded.runs.get(id)?.attempt)
    const instances = (): Need => ({ instances: idsOf(others) })
    const fires = (loaded: Loaded): unknown => others.map(({ id }) => loaded.instances.get(id)?.fires)
    const slots = (): Need => ({ slots: others.map(({ id }) => ({ instanceId: id, keys: ['c:a'] })) })
    const values = (loaded: Loaded): unknown => others.map(({ id }) => loaded.slots.get(`${id}/c:a`))

    it('decides once while they are as it last wrote them', async () => {
      for (let i = 0; i < 2; i++) {
        expect(await copy(runs(), attempts)).toEqual([[0, 0]])
        expect(await copy(instances(), fires)).toEqual([[0, 0]])
        expect(await copy({}, fires, { roots: idsOf(others) })).toEqual([[0, 0]])
        expect(await copy(slots(), values)).toEqual([['1', '1']])
      }
    })

    it.each([0, 1])('is refused when another process changed a run: of two, number %i', async (i) => {
      const changed = held[i] as RunRow
      await put(await subject.open(), { runs: { update: [{ ...changed, attempt: 5 }] } })
      const now = i === 0 ? [5, 0] : [0, 5]
      expect(await copy(runs(), attempts)).toEqual([[0, 0], now])
    })

    it.each([0, 1])('is refused when another process changed an instance: of two, number %i', async (i) => {
      const changed = others[i] as InstanceRow
      await put(await subject.open(), { instances: { update: [{ ...changed, fires: 5 }] } })
      const now = i === 0 ? [5, 0] : [0, 5]
      expect(await copy(instances(), fires)).toEqual([[0, 0], now])
    })

    it.each([0, 1])('is refused when another process changed a root: of two, number %i', async (i) => {
      const changed = others[i] as InstanceRow
      await put(await subject.open(), { instances: { update: [{ ...changed, fires: 5 }] } })
      const now = i === 0 ? [5, 0] : [0, 5]
      expect(await copy({}, fires, { roots: idsOf(others) })).toEqual([[0, 0], now])
    })

    it.each([0, 1])('is refused when another process changed a slot: of two instances, number %i', async (i) => {
      const { id } = others[i] as InstanceRow
      await put(await subject.open(), { slots: { put: [{ instanceId: id, key: 'c:a', value: '5' }] } })
      const now = i === 0 ? ['5', '1'] : ['1', '5']
      expect(await copy(slots(), values)).toEqual([['1', '1'], now])
    })

    it('is refused when another process changed a run that it writes as it read it, which writes nothing', async () => {
      const [first, second] = held as readonly [RunRow, RunRow]
      await put(await subject.open(), { runs: { update: [{ ...first, attempt: 5 }] } })
      expect(await copy(runs(), attempts, { unchanged: idsOf([first, second]) })).toEqual([
        [0, 0],
        [5, 0],
      ])
    })

    it('is refused when a foreign client changed a run by plain SQL', async () => {
      const [first] = held as readonly [RunRow]
      await subject.foreign.query(`UPDATE workflow_run SET status = 'cancelled' WHERE id = $1`, [first.id])
      const status = (loaded: Loaded): unknown => loaded.runs.get(first.id)?.status
      expect(await copy(runs(), status)).toEqual(['leased', 'cancelled'])
    })

    it('is refused when a run is gone', async () => {
      const [, second] = held as readonly [RunRow, RunRow]
      await subject.foreign.query(
        `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM workflow_run WHERE id = '${second.id}'; COMMIT`,
      )
      expect(await copy(runs(), attempts)).toEqual([
        [0, 0],
        [0, undefined],
      ])
    })

    it('is refused while another transaction has changed a run without committing: it waits for that commit', async () => {
      const { foreign } = subject
      const [first] = held as readonly [RunRow]
      await foreign.query('BEGIN')
      await foreign.query('UPDATE workflow_run SET attempt = 5, engine_turn = NOT engine_turn WHERE id = $1', [
        first.id,
      ])
      const copied = copy(runs(), attempts)
      await subject.untilWaiting('petrel patient', 1)
      await foreign.query('COMMIT')
      expect(await copied).toEqual([
        [0, 0],
        [5, 0],
      ])
    })
  })

  it('loads everything when part of the need is never cached', async () => {
    const { store } = subject
    expect(await settle(store, { gates: [newId()] })).toEqual([{ fires: 1, slot: '1', status: 'leased' }])
  })
})
