/** A run that is returned and taken again is at the same attempt: only its epoch distinguishes the two leases. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { LeaseReport } from '../../../src/model/leases.ts'
import { PLACES } from '../drive.ts'
import { chain, job, workflow } from '../specifications/stage.ts'
import { accepted, Desk, EXACT } from './desk.ts'

const OUTCOMES: readonly LeaseReport['outcome'][] = [
  { kind: 'succeeded', result: null },
  { kind: 'failed', error: { code: 'x', message: 'x' }, how: 'policy' },
  { kind: 'requeue' },
  { kind: 'released' },
]

describe.each(PLACES)('the epoch of a lease on $name', (place) => {
  let desk: Desk
  beforeEach(async () => {
    desk = await Desk.open(place)
  })
  afterEach(async () => {
    expect(await desk.d.doctor()).toEqual([])
    await desk.d.close()
  })
  const extend = (id: string, epoch: number) =>
    desk.engine.leases.extend({ holder: 'w1', runIds: [id], leaseMs: 60_000, epochs: [epoch] })

  it('a returned run has spent no attempt, keeps its place, and is claimable at once', async () => {
    const id = await desk.enqueue()
    const other = await desk.enqueue()
    const first = await desk.fetchOne()
    expect(first).toMatchObject({ id, attempt: 0, epoch: 0 })
    const { run, retryDelayMs } = accepted(await desk.settle(id, { kind: 'released' }, { holder: 'w1', epoch: 0 }))
    expect(run).toMatchObject({
      status: 'pending',
      attempt: 0,
      epoch: 1,
      leasedBy: null,
      leaseUntil: null,
      error: null,
    })
    expect(retryDelayMs).toBe(0)
    expect((await desk.fetch()).map((r) => [r.id, r.attempt, r.epoch])).toEqual([
      [id, 0, 1],
      [other, 0, 0],
    ])
    expect(await desk.history(id)).toEqual(['created', 'leased', 'started', 'returned', 'leased', 'started'])
  })

  it('calls under the previous lease change nothing, though holder and attempt are the same', async () => {
    const id = await desk.enqueue({ retry: EXACT })
    const { epoch } = await desk.fetchOne()
    await desk.settle(id, { kind: 'released' }, { epoch })
    const again = await desk.fetchOne()
    expect(again).toMatchObject({ attempt: 0, leasedBy: 'w1', epoch: epoch + 1 })
    const before = await desk.picture(id)
    for (const outcome of OUTCOMES) {
      const refused = await desk.settle(id, outcome, { holder: 'w1', attempt: 1, epoch })
      expect(refused).toMatchObject({ code: 'conflict', details: { status: 'leased' } })
    }
    expect(await extend(id, epoch)).toEqual([])
    expect(await desk.picture(id)).toEqual(before)
    expect(await extend(id, again.epoch)).toEqual([id])
    accepted(await desk.ack(id, 1, { holder: 'w1', epoch: again.epoch }))
  })

  it('extends many, each under its own epoch', async () => {
    const ids = [await desk.enqueue(), await desk.enqueue(), await desk.enqueue()]
    await desk.fetch()
    const extended = await desk.engine.leases.extend({ holder: 'w1', runIds: ids, leaseMs: null, epochs: [0, 7, 0] })
    expect([...extended].sort()).toEqual([ids[0], ids[2]].sort())
    expect([...(await desk.engine.leases.extend({ holder: 'w1', runIds: ids, leaseMs: null }))].sort()).toEqual(
      ids.sort(),
    )
  })

  it('a report sent twice under its id gets the same answer, until the run is handed out again', async () => {
    const id = await desk.enqueue({ retry: EXACT })
    const { epoch } = await desk.fetchOne()
    const report = { holder: 'w1', epoch, reportId: `w1/${epoch}/fail` }
    const failed = { kind: 'failed', error: { code: 'boom', message: 'no' }, how: 'policy' } as const
    const first = accepted(await desk.settle(id, failed, report))
    expect([first.run.status, first.run.attempt, first.retryDelayMs]).toEqual(['pending', 1, 1000])
    const second = accepted(await desk.settle(id, failed, report))
    expect([second.run.status, second.run.attempt]).toEqual(['pending', 1])
    await desk.d.pass(1001)
    const again = await desk.fetchOne()
    expect(await desk.settle(id, failed, report)).toBeInstanceOf(PetrelError)
    const done = { holder: 'w1', epoch: again.epoch, reportId: `w1/${again.epoch}/complete` }
    accepted(await desk.ack(id, 'ok', done))
    expect(accepted(await desk.ack(id, 'something else', done)).run.result).toBe('"ok"')
    expect(await desk.ack(id, 'ok', { ...done, reportId: 'another' })).toMatchObject({ code: 'conflict' })
    expect(await desk.history(id)).toEqual([
      'created',
      'leased',
      'started',
      'retried',
      'leased',
      'started',
      'succeeded',
    ])
  })

  it('a run returned while its workflow is cancelled ends with it', async () => {
    const id = await workflow(desk.d, chain(job('a.v1'), job('b.v1')))
    const run = await desk.fetchOne()
    await desk.engine.cancelInstance({ id, actor: null })
    expect(await desk.d.state(id)).toBe('cancelling')
    const { run: ended } = accepted(await desk.settle(run.id, { kind: 'released' }, { epoch: run.epoch }))
    expect(ended).toMatchObject({ status: 'cancelled', unknown: false })
    expect(await desk.d.state(id)).toBe('cancelled')
  })

  it('a returned run releases its place under a limit', async () => {
    await desk.engine.setLimit({ key: 'queue:default', maxConcurrent: 1 })
    const id = await desk.enqueue()
    await desk.enqueue()
    const { epoch } = await desk.fetchOne()
    expect(await desk.fetch()).toEqual([])
    accepted(await desk.settle(id, { kind: 'released' }, { epoch }))
    expect((await desk.fetch()).map((run) => run.id)).toEqual([id])
  })
})
