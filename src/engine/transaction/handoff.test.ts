import { describe, expect, it } from 'vitest'
import { net, node, run } from '../../../test/engine/drive.ts'
import { FoldStage } from '../../../test/fold/stage.ts'
import { foldPending } from '../fold/happenings.ts'
import { createInstance } from '../fold/instance/instance-creation.ts'
import { succeed } from '../fold/run/outcomes.ts'
import { NO_REPORT } from '../fold/run/remarks.ts'
import { type Handed, handOff, type Offer } from './handoff.ts'

const CHAIN = net([node('a', ['b', 'c']), node('b'), node('c', [], { work: run('c', { priority: 5 }) })])

function offer(rest: Partial<Offer> = {}): Offer {
  return {
    holder: { id: 's', name: 'worker' },
    filter: { queues: null, types: null, tenant: null, runtime: null },
    accepts: () => true,
    reports: [],
    room: 1,
    streak: 0,
    waiting: null,
    renew: false,
    looked() {},
    ...rest,
  }
}

/** The end of `a` creates b and c. */
function handed(offers: readonly Offer[], urgency: readonly (number | null)[] = [], stage = new FoldStage()) {
  stage.start(CHAIN)
  const first = stage.lease('a')
  let result: readonly Handed[] = []
  stage.act((change) => {
    succeed(change, first, null, NO_REPORT)
    result = handOff(change, offers, urgency)
  })
  return { result, stage }
}

describe('a hand-off', () => {
  it('leases a new run to a worker with a free slot, in the same transaction', () => {
    const { result, stage } = handed([offer()])
    expect(result.map((one) => one.run.node)).toEqual(['b'])
    expect(stage.runAt('b')).toMatchObject({ status: 'leased', sessionId: 's', leasedAt: stage.now })
    expect(stage.runAt('c')?.status).toBe('pending')
    const created = stage.events.findLast((event) => event.node === 'b' && event.type === 'created')
    expect(JSON.parse(created?.data ?? '')).toMatchObject({ leased_by: 'worker' })
  })

  it('replies to reports before it uses other free slots', () => {
    const { result } = handed([offer({ reports: ['r1'], room: 1 })])
    expect(result.map((one) => one.reportId)).toEqual(['r1', null])
  })

  it('does not lease a run that is less urgent than one the worker could claim', () => {
    const { result } = handed([offer({ room: 9 })], [50])
    expect(result.map((one) => one.run.node)).toEqual(['c'])
  })

  it('lets a worker check the queue after many in a row, if any run is pending there', () => {
    expect(handed([offer({ room: 9, streak: 16 })], [500]).result).toEqual([])
    expect(handed([offer({ room: 9, streak: 16 })], [null]).result).toHaveLength(2)
  })

  it('respects limits and the types that the worker accepts', () => {
    const limited = new FoldStage()
    const limit = {
      key: 'queue:default',
      maxConcurrent: 1,
      ratePer: null,
      periodMs: null,
      windowStart: 0,
      windowUsed: 0,
    }
    limited.limits.set(limit.key, { ...limit, inUse: 1 })
    expect(handed([offer({ room: 9 })], [], limited).result).toHaveLength(1)
    const accepts = (row: { readonly type: string }): boolean => row.type === 'c'
    expect(handed([offer({ room: 9, accepts })]).result.map((one) => one.run.node)).toEqual(['c'])
  })

  it('does not lease a run that is due later', () => {
    const stage = new FoldStage()
    stage.start(net([node('x')]))
    const { change } = stage.act(() => undefined)
    createInstance(change, {
      id: 'later',
      netHash: 'test',
      parent: null,
      tenant: null,
      startKey: null,
      retryOf: null,
      actor: null,
      input: null,
      meta: null,
      literals: null,
      items: null,
    })
    foldPending(change)
    for (const row of change.newRuns.values()) change.newRuns.set(row.id, { ...row, runAt: change.now + 1 })
    expect(handOff(change, [offer()], [])).toEqual([])
  })
})
