/** A run that is returned and taken again is at the same attempt: only its epoch distinguishes the two leases. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { LeaseReport } from '../../../src/model/leases.ts'
import { PLACES } from '../drive.ts'
import { chain, job, workflow } from '../specifications/stage.ts'
import { accepted, EXACT, HttpWorker } from './http-worker.ts'

const OUTCOMES: readonly LeaseReport['outcome'][] = [
  { kind: 'succeeded', result: null },
  { kind: 'failed', error: { code: 'x', message: 'x' }, how: 'policy' },
  { kind: 'requeue' },
  { kind: 'released' },
]

describe.each(PLACES)('the epoch of a lease on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(async () => {
    expect(await http.d.doctor()).toEqual([])
    await http.d.close()
  })
  const extend = (id: string, epoch: number) =>
    http.engine.leases.extend({ holder: 'w1', runIds: [id], leaseMs: 60_000, epochs: [epoch] })

  it('a returned run has spent no attempt, keeps its place, and is claimable at once', async () => {
    const id = await http.enqueue()
    const other = await http.enqueue()
    const first = await http.fetchOne()
    expect(first).toMatchObject({ id, attempt: 0, epoch: 0 })
    const { run, retryDelayMs } = accepted(await http.settle(id, { kind: 'released' }, { holder: 'w1', epoch: 0 }))
    expect(run).toMatchObject({
      status: 'pending',
      attempt: 0,
      epoch: 1,
      leasedBy: null,
      leaseUntil: null,
      error: null,
    })
    expect(retryDelayMs).toBe(0)
    expect((await http.fetch()).map((r) => [r.id, r.attempt, r.epoch])).toEqual([
      [id, 0, 1],
      [other, 0, 0],
    ])
    expect(await http.history(id)).toEqual(['created', 'leased', 'started', 'returned', 'leased', 'started'])
  })

  it('calls under the previous lease change nothing, though holder and attempt are the same', async () => {
    const id = await http.enqueue({ retry: EXACT })
    const { epoch } = await http.fetchOne()
    await http.settle(id, { kind: 'released' }, { epoch })
    const again = await http.fetchOne()
    expect(again).toMatchObject({ attempt: 0, leasedBy: 'w1', epoch: epoch + 1 })
    const before = await http.picture(id)
    for (const outcome of OUTCOMES) {
      const refused = await http.settle(id, outcome, { holder: 'w1', attempt: 1, epoch })
      expect(refused).toMatchObject({ code: 'conflict', details: { status: 'leased' } })
    }
    expect(await extend(id, epoch)).toEqual([])
    expect(await http.picture(id)).toEqual(before)
    expect(await extend(id, again.epoch)).toEqual([id])
    accepted(await http.ack(id, 1, { holder: 'w1', epoch: again.epoch }))
  })

  it('extends many, each under its own epoch', async () => {
    const ids = [await http.enqueue(), await http.enqueue(), await http.enqueue()]
    await http.fetch()
    const extended = await http.engine.leases.extend({ holder: 'w1', runIds: ids, leaseMs: null, epochs: [0, 7, 0] })
    expect([...extended].sort()).toEqual([ids[0], ids[2]].sort())
    expect([...(await http.engine.leases.extend({ holder: 'w1', runIds: ids, leaseMs: null }))].sort()).toEqual(
      ids.sort(),
    )
  })

  it('a report sent twice under its id gets the same answer, until the run is handed out again', async () => {
    const id = await http.enqueue({ retry: EXACT })
    const { epoch } = await http.fetchOne()
    const report = { holder: 'w1', epoch, reportId: `w1/${epoch}/fail` }
    const failed = { kind: 'failed', error: { code: 'boom', message: 'no' }, how: 'policy' } as const
    const first = accepted(await http.settle(id, failed, report))
    expect([first.run.status, first.run.attempt, first.retryDelayMs]).toEqual(['pending', 1, 1000])
    const second = accepted(await http.settle(id, failed, report))
    expect([second.run.status, second.run.attempt]).toEqual(['pending', 1])
    await http.d.pass(1001)
    const again = await http.fetchOne()
    expect(await http.settle(id, failed, report)).toBeInstanceOf(PetrelError)
    const done = { holder: 'w1', epoch: again.epoch, reportId: `w1/${again.epoch}/complete` }
    accepted(await http.ack(id, 'ok', done))
    expect(accepted(await http.ack(id, 'something else', done)).run.result).toBe('"ok"')
    expect(await http.ack(id, 'ok', { ...done, reportId: 'another' })).toMatchObject({ code: 'conflict' })
    expect(await http.history(id)).toEqual([
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
    const id = await workflow(http.d, chain(job('a.v1'), job('b.v1')))
    const run = await http.fetchOne()
    await http.engine.cancelInstance({ id, actor: null })
    expect(await http.d.state(id)).toBe('cancelling')
    const { run: ended } = accepted(await http.settle(run.id, { kind: 'released' }, { epoch: run.epoch }))
    expect(ended).toMatchObject({ status: 'cancelled', unknown: false })
    expect(await http.d.state(id)).toBe('cancelled')
  })

  it('a returned run releases its place under a limit', async () => {
    await http.engine.setLimit({ key: 'queue:default', maxConcurrent: 1 })
    const id = await http.enqueue()
    await http.enqueue()
    const { epoch } = await http.fetchOne()
    expect(await http.fetch()).toEqual([])
    accepted(await http.settle(id, { kind: 'released' }, { epoch }))
    expect((await http.fetch()).map((run) => run.id)).toEqual([id])
  })
})
