import { expect, it } from 'vitest'
import { aGate, aLeasedRun, anEndedInstance, anInstance, aRun, aSchedule, aStep, newId, T0 } from './rows.ts'
import { ids, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

export function dueTopic(current: Current): void {
  it('finds foreign leases past their end, oldest first', async () => {
    const { store } = current()
    const foreign = (leaseUntil: number) => aRun({ status: 'leased', leasedBy: 'go-1', leaseUntil })
    const [late, later, future] = [foreign(T0 - 2_000), foreign(T0 - 1_000), foreign(T0 + 60_000)]
    await put(store, { runs: { insert: [later, future, late, aLeasedRun({ sessionId: newId() })] } })
    expect(ids(await store.sweep.expiredLeases({ limit: 10 }))).toEqual(ids([late, later]))
    expect(ids(await store.sweep.expiredLeases({ limit: 1 }))).toEqual([late.id])
    await setClock(store, 61_000)
    expect(await store.sweep.expiredLeases({ limit: 10 })).toHaveLength(3)
  })

  it('finds runs past their timeout, pending or held, and runs that expired before they began', async () => {
    const { store } = current()
    const sessionId = newId()
    const overdue = [
      aLeasedRun({ sessionId, timeoutAt: T0 + 5_000 }),
      aRun({ timeoutAt: T0 + 5_000, timeoutPer: 'node', timeoutMs: 1, attempt: 1 }),
      aRun({ expiresAt: T0 + 5_000 }),
      aRun({ expiresAt: T0 + 5_000, timeoutAt: T0 + 5_000 }),
    ]
    const others = [
      aLeasedRun({ sessionId, expiresAt: T0 + 5_000 }),
      aRun({ status: 'succeeded', timeoutAt: T0 + 5_000, settledAt: T0, finishedAt: T0 }),
      aRun({ expiresAt: T0 + 90_000 }),
    ]
    await put(store, { runs: { insert: [...overdue, ...others] } })
    expect(await store.sweep.overdueRuns({ limit: 10 })).toEqual([])
    await setClock(store, 10_000)
    expect(ids(await store.sweep.overdueRuns({ limit: 10 })).sort()).toEqual(ids(overdue).sort())
    expect(await store.sweep.overdueRuns({ limit: 2 })).toHaveLength(2)
  })

  it('finds instances past their deadline and unanswered gates', async () => {
    const { store } = current()
    const due = anInstance({ deadlineAt: T0 + 5_000 })
    const child = anInstance({ rootId: due.id, parentId: due.id, parentNode: 'sub', deadlineAt: T0 + 4_000 })
    const gate = aGate(due, { dueAt: T0 + 5_000 })
    await put(store, {
      instances: {
        insert: [
          due,
          child,
          anInstance({ deadlineAt: T0 + 90_000 }),
          anEndedInstance({ deadlineAt: T0 + 5_000 }),
          anInstance(),
        ],
      },
      gates: {
        insert: [
          gate,
          aGate(due, { node: 'b', dueAt: T0 + 90_000 }),
          aGate(due, { node: 'c', dueAt: T0 + 1, state: 'closed' }),
          aGate(due, { node: 'd' }),
        ],
      },
    })
    expect(await store.sweep.overdueInstances({ limit: 10 })).toEqual([])
    expect(await store.sweep.overdueGates({ limit: 10 })).toEqual([])
    await setClock(store, 10_000)
    expect(await store.sweep.overdueInstances({ limit: 10 })).toEqual([
      { id: child.id, rootId: due.id },
      { id: due.id, rootId: due.id },
    ])
    expect(ids(await store.sweep.overdueGates({ limit: 10 }))).toEqual([gate.id])
  })

  it('finds open gates whose escalation is due, and returns the next due time', async () => {
    const { store } = current()
    const instance = anInstance()
    const gates = [
      aGate(instance, { escalateAt: T0 + 5_000 }),
      aGate(instance, { node: 'b', escalateAt: T0 + 3_000, state: 'approved' }),
      aGate(instance, { node: 'c', escalateAt: T0 + 9_000 }),
    ]
    await put(store, { instances: { insert: [instance] }, gates: { insert: gates } })
    expect(await store.sweep.nextDueAt()).toBe(T0 + 5_000)
    expect(await store.sweep.escalatingGates({ limit: 10 })).toEqual([])
    await setClock(store, 10_000)
    expect(ids(await store.sweep.escalatingGates({ limit: 10 }))).toEqual([gates[0]!.id, gates[2]!.id])
    expect(await store.sweep.escalatingGates({ limit: 1 })).toHaveLength(1)
    await put(store, { gates: { update: [{ ...gates[0]!, escalated: 1, escalateAt: null }] } })
    expect(ids(await store.sweep.escalatingGates({ limit: 10 }))).toEqual([gates[2]!.id])
  })

  it('finds runs that a foreign client ended by plain SQL, until they are settled', async () => {
    const { store, sql } = current()
    const instance = anInstance()
    const [step, bare] = [aStep(instance, 'a', { status: 'leased', leasedBy: 'go-1' }), aRun()]
    const settled = aRun({ status: 'failed', settledAt: T0, finishedAt: T0 })
    await put(store, { instances: { insert: [instance] }, runs: { insert: [step, bare, settled] } })
    expect(await store.sweep.unsettledRuns({ limit: 10 })).toEqual([])
    await sql(`UPDATE workflow_run SET status = 'succeeded', result = '{"n":1}' WHERE id = '${step.id}'`)
    await sql(`UPDATE workflow_run SET status = 'cancelled' WHERE id = '${bare.id}'`)
    const found = await store.sweep.unsettledRuns({ limit: 10 })
    expect(found.find((run) => run.id === step.id)).toEqual({
      id: step.id,
      rootId: instance.id,
      instanceId: instance.id,
    })
    expect(found.find((run) => run.id === bare.id)).toEqual({ id: bare.id, rootId: null, instanceId: null })
    const row = (await store.read.run(step.id))!
    expect([row.status, row.settledAt, JSON.parse(row.result!)]).toEqual(['succeeded', null, { n: 1 }])
    await put(store, { runs: { update: [{ ...row, settledAt: T0, finishedAt: T0 }] } })
    expect(ids(await store.sweep.unsettledRuns({ limit: 10 }))).toEqual([bare.id])
  })

  it('finds interrupted cascades', async () => {
    const { store } = current()
    const cut = anInstance({ more: true })
    await put(store, { instances: { insert: [cut, anInstance()] } })
    expect(await store.sweep.unfinishedCascades({ limit: 10 })).toEqual([{ id: cut.id, rootId: cut.id }])
  })

  it('finds schedules to fire', async () => {
    const { store } = current()
    await put(store, {
      schedules: {
        put: [
          aSchedule('b', { nextAt: T0 - 1_000 }),
          aSchedule('a', { nextAt: T0 - 2_000 }),
          aSchedule('later', { nextAt: T0 + 90_000 }),
          aSchedule('off', { enabled: false }),
          aSchedule('done', { nextAt: null }),
        ],
      },
    })
    expect((await store.sweep.dueSchedules({ limit: 10 })).map((row) => row.name)).toEqual(['a', 'b'])
    expect((await store.sweep.dueSchedules({ limit: 1 })).map((row) => row.name)).toEqual(['a'])
    expect((await store.read.schedules()).map((row) => row.name)).toEqual(['a', 'b', 'done', 'later', 'off'])
  })

  it('returns the next due time', async () => {
    const { store } = current()
    const next = () => store.sweep.nextDueAt()
    expect(await next()).toBeNull()
    await put(store, { runs: { insert: [aRun({ runAt: T0 - 1_000 })] } })
    expect(await next()).toBeNull()
    const far = aRun({ runAt: T0 + 90_000, priority: 5 })
    await put(store, {
      runs: {
        insert: [
          far,
          aRun({ runAt: T0 + 95_000 }),
          aRun({ runAt: T0 + 1_000, deletedAt: T0 }),
          // A deleted row does not expire; a time in the past here would keep the sweeper busy permanently.
          aRun({ expiresAt: T0 - 1_000, deletedAt: T0 }),
        ],
      },
    })
    expect(await store.sweep.overdueRuns({ limit: 10 })).toEqual([])
    expect(await next()).toBe(T0 + 90_000)
    const instance = anInstance({ deadlineAt: T0 + 80_000 })
    await put(store, { instances: { insert: [instance, anEndedInstance({ deadlineAt: T0 + 1 })] } })
    expect(await next()).toBe(T0 + 80_000)
    await put(store, { gates: { insert: [aGate(instance, { dueAt: T0 + 70_000 })] } })
    expect(await next()).toBe(T0 + 70_000)
    await put(store, {
      schedules: { put: [aSchedule('a', { nextAt: T0 + 60_000 }), aSchedule('off', { nextAt: T0, enabled: false })] },
    })
    expect(await next()).toBe(T0 + 60_000)
    await put(store, { runs: { insert: [aLeasedRun({ sessionId: newId(), timeoutAt: T0 + 50_000 })] } })
    expect(await next()).toBe(T0 + 50_000)
    await put(store, { runs: { insert: [aRun({ type: 'z', queue: 'z', runAt: T0 + 40_000 })] } })
    expect(await next()).toBe(T0 + 40_000)
  })
}
