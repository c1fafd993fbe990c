import { describe, expect, it } from 'vitest'
import { net, node, run } from '../../../test/engine/drive.ts'
import { FoldStage } from '../../../test/fold/stage.ts'
import { quotaKey } from '../../model/limits.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Node } from '../../net/net.ts'
import { happen } from './happenings.ts'
import { leaveQueue } from './instance/idle-start.ts'
import { memberOf } from './members.ts'
import { failExecution, succeed } from './run/outcomes.ts'
import { NO_REPORT } from './run/remarks.ts'

const undo = (type: string): Partial<Node> => ({
  undo: { work: run(type), retry: null, timeout: null } as never,
})
const NO_RETRY = { message: 'no luck', code: 'final', retryable: false }

function done(stage: FoldStage, row: RunRow): void {
  stage.act((change) => succeed(change, row, null, NO_REPORT))
}

describe('a cancel', () => {
  it('ends pending runs, and waits for active ones', () => {
    const stage = new FoldStage()
    const id = stage.start(net([node('a'), node('b')], { entry: ['a', 'b'] }))
    const active = stage.lease('a')
    stage.act((change) => happen(change, id, { kind: 'cancel' }))
    expect(stage.runAt('b')?.status).toBe('cancelled')
    expect(stage.run(active.id).status).toBe('leased')
    expect(stage.instance(id)).toMatchObject({ state: 'cancelling', endedAt: null })
    done(stage, active)
    expect(stage.instance(id)).toMatchObject({ state: 'cancelled', endedAt: stage.now })
    expect(stage.eventTypes().at(-1)).toBe('instance.cancelled')
  })

  it('with undo waits for active work, and undoes it if it succeeds', () => {
    const stage = new FoldStage()
    const id = stage.start(net([node('a', ['b'], undo('undo.a')), node('b', [], undo('undo.b'))]))
    done(stage, stage.lease('a'))
    const active = stage.lease('b')
    stage.act((change) => happen(change, id, { kind: 'roll-back' }))
    expect(stage.runAt('a', 'undo')).toBeUndefined()
    done(stage, active)
    done(stage, stage.lease('b', 'undo'))
    done(stage, stage.lease('a', 'undo'))
    expect(stage.instance(id).endedAt).toBe(stage.now)
  })

  it('asks the workers of its runs to stop', () => {
    const stage = new FoldStage()
    const id = stage.start(net([node('a')]))
    stage.lease('a')
    const { change } = stage.act((working) => happen(working, id, { kind: 'cancel' }))
    expect([...change.signalled]).toEqual([id])
  })
})

describe('a deadline', () => {
  it('takes active runs from their workers and fails the instance', () => {
    const stage = new FoldStage()
    const id = stage.start(net([node('a', ['b']), node('b')], { timeoutMs: 1_000 }))
    expect(stage.instance(id).deadlineAt).toBe(stage.now + 1_000)
    const active = stage.lease('a')
    stage.now += 1_000
    stage.act((change) => happen(change, id, { kind: 'deadline' }))
    expect(stage.run(active.id)).toMatchObject({ status: 'cancelled', unknown: true })
    expect(stage.instance(id)).toMatchObject({ state: 'failed', reason: 'deadline' })
  })
})

describe('a deadline of an instance that undoes its work', () => {
  it('undoes what has completed, and ends with the deadline as its reason', () => {
    const stage = new FoldStage()
    const id = stage.start(
      net([node('a', ['b'], undo('undo.a')), node('b')], { timeoutMs: 1_000, onFailure: 'compensate' }),
    )
    done(stage, stage.lease('a'))
    stage.now += 1_000
    stage.act((change) => happen(change, id, { kind: 'deadline' }))
    expect(stage.runAt('b')?.status).toBe('cancelled')
    expect(stage.instance(id)).toMatchObject({ state: 'compensating', reason: 'deadline' })
    done(stage, stage.lease('a', 'undo'))
    expect(stage.instance(id)).toMatchObject({ endedAt: stage.now, reason: 'deadline' })
  })
})

describe('a rollback', () => {
  it('undoes in the reverse order of completion, one after the other', () => {
    const stage = new FoldStage()
    const id = stage.start(
      net([node('a', ['c'], undo('undo.a')), node('b', ['c'], undo('undo.b')), node('c', [], { join: 'count' })], {
        entry: ['a', 'b'],
        onFailure: 'compensate',
      }),
    )
    done(stage, stage.lease('b'))
    done(stage, stage.lease('a'))
    const last = stage.lease('c')
    stage.act((change) => failExecution(change, last, NO_RETRY, false, NO_REPORT, { random: () => 0 }))
    expect(stage.instance(id).state).toBe('compensating')
    expect(stage.runAt('b', 'undo')).toBeUndefined()
    done(stage, stage.lease('a', 'undo'))
    expect(stage.runAt('b', 'undo')?.type).toBe('undo.b')
    done(stage, stage.lease('b', 'undo'))
    expect(stage.instance(id).state).toBe('compensated')
  })

  it('undoes in the reverse order of the reports, also when one transaction records them all', () => {
    for (const order of [
      ['a', 'b', 'c'],
      ['c', 'a', 'b'],
    ]) {
      const stage = new FoldStage()
      const undoable = (key: string): Node => node(key, [], undo(`undo.${key}`))
      stage.start(
        net([undoable('a'), undoable('b'), undoable('c'), node('breaks')], {
          entry: ['a', 'b', 'c', 'breaks'],
          onFailure: 'compensate',
        }),
      )
      const held = new Map(['a', 'b', 'c', 'breaks'].map((key) => [key, stage.lease(key)]))
      stage.act((change) => {
        for (const key of order) succeed(change, held.get(key) as RunRow, null, NO_REPORT)
        const broken = held.get('breaks') as RunRow
        failExecution(change, broken, NO_RETRY, false, NO_REPORT, { random: () => 0 })
      })
      const undone: (string | null)[] = []
      for (const key of order.toReversed()) {
        const pending = [...stage.runs.values()].filter((r) => r.role === 'undo' && r.status === 'pending')
        undone.push(...pending.map((r) => r.node))
        done(stage, stage.lease(key, 'undo'))
      }
      expect(undone).toEqual(order.toReversed())
    }
  })

  it('passes the arguments and the result of the work to its undo', () => {
    const stage = new FoldStage()
    stage.start(net([node('a', ['b'], undo('undo.a')), node('b')], { onFailure: 'compensate' }))
    const first = stage.lease('a')
    stage.act((change) => succeed(change, first, '{"paid":1}', NO_REPORT))
    const second = stage.lease('b')
    stage.act((change) => failExecution(change, second, NO_RETRY, false, NO_REPORT, { random: () => 0 }))
    expect(JSON.parse(stage.runAt('a', 'undo')?.payload ?? '')).toEqual({ args: null, result: { paid: 1 } })
  })
})

describe('a quota', () => {
  const key = quotaKey('test', null)
  const limit = { key, maxConcurrent: 1, ratePer: null, periodMs: null, inUse: 0, windowStart: 0, windowUsed: 0 }

  it('queues an instance if the limit is reached, until another has ended', () => {
    const stage = new FoldStage()
    stage.limits.set(key, limit)
    const first = stage.start(net([node('a')]), { quotaKey: key })
    const second = stage.start(net([node('a')]), { quotaKey: key })
    expect(stage.instance(first).state).toBe('running')
    expect(stage.instance(second)).toMatchObject({ state: 'queued', queuedAt: stage.now })
    const [active] = [...stage.runs.values()]
    expect(stage.runs.size).toBe(1)
    stage.add({ ...(active as RunRow), status: 'leased', sessionId: 's', leasedBy: 'worker', leasedAt: stage.now })
    const { change } = stage.act((working) => succeed(working, stage.run((active as RunRow).id), null, NO_REPORT))
    expect([...change.admission.freed]).toEqual([key])
    stage.act((working) => leaveQueue(working, memberOf(working, second)))
    expect(stage.instance(second).state).toBe('running')
    expect(stage.limits.get(key)?.inUse).toBe(1)
  })
})
