/** Cancels that involve foreign clients: theirs of runs our workers hold, ours of runs they hold. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { petrelOn } from '../../src/client/petrel.ts'
import { Cancelled, type Petrel } from '../../src/index.ts'
import type { Drive } from '../engine/drive.ts'
import { net, node, ONCE, undoBy } from '../engine/drive.ts'
import { begin, chain, events, group, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { eventually, NEVER_MS, Stage } from './stage.ts'

describe.each(SHARED)('cancelled by plain SQL on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place, { sweep: true, pollMs: NEVER_MS })
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })
  const enqueue = async (rest: object = {}): Promise<string> => {
    const [made] = await d.engine.enqueue([{ type: 'x.v1', payload: null, ...rest }])
    return (made as { id: string }).id
  }
  /** A handler that waits until it is asked to stop, and records the reason. */
  const waiting = async (petrel: Petrel, type: string) => {
    const reasons: unknown[] = []
    const begun: string[] = []
    petrel.handle(type, (_, ctx) => {
      begun.push(ctx.runId)
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          reasons.push(ctx.signal.reason)
          reject(ctx.signal.reason)
        })
      })
    })
    await petrel.work({ types: [type] })
    return { reasons, begun }
  }

  it('a run executed by a worker of this process stops at once, and its report changes nothing', async () => {
    const petrel = petrelOn(d.engine)
    const { reasons, begun } = await waiting(petrel, 'x.v1')
    const id = await enqueue({ maxAttempts: 5 })
    await eventually(async () => begun.length === 1 && (await s.run(id)).startedAt !== null, 'its start is recorded')
    expect((await go.cancel(id)).count).toBe(1)
    expect(await go.status(id)).toBe('cancelled')
    await eventually(() => reasons.length === 1, 'it hears of it', 3_000)
    expect(reasons[0]).toBeInstanceOf(Cancelled)
    expect(await d.engine.ended({ id, kind: 'run' })).toBe('cancelled')
    await petrel.close()
    expect(await s.run(id)).toMatchObject({ status: 'cancelled', unknown: true, sessionId: null, attempt: 0 })
    expect(await s.history(id)).toEqual(['created', 'leased', 'started', 'cancelled'])
  })

  it('a run executed by a worker of another process stops at once as well', async () => {
    const other = await s.second({ sweep: false, pollMs: NEVER_MS })
    const petrel = petrelOn(other)
    const { reasons, begun } = await waiting(petrel, 'x.v1')
    const id = await enqueue()
    await eventually(() => begun.length === 1, 'it begins')
    await go.cancel(id)
    await eventually(() => reasons.length === 1, 'it hears of it', 3_000)
    expect(reasons[0]).toBeInstanceOf(Cancelled)
    await petrel.close()
  })

  it('a worker over HTTP cannot renew its lease any more, and its report is a conflict', async () => {
    const id = await enqueue()
    const [leased] = await d.engine.leases.fetch({
      queues: null,
      types: null,
      limit: 1,
      holder: 'http-1',
      runtime: null,
      tenant: null,
      leaseMs: () => 30_000,
      waitMs: 0,
    })
    expect(leased?.id).toBe(id)
    await go.cancel(id)
    expect(await d.engine.leases.extend({ holder: 'http-1', runIds: [id], leaseMs: null })).toEqual([])
    const outcome = { kind: 'succeeded', result: 1 } as const
    const [answer] = await d.engine.leases.settle([{ runId: id, holder: 'http-1', attempt: 1, outcome }])
    expect(answer).toMatchObject({ code: 'conflict', details: { status: 'cancelled' } })
    expect(await s.run(id)).toMatchObject({ status: 'cancelled', unknown: true, leaseMs: null, result: null })
    expect(await s.history(id)).toEqual(['created', 'leased', 'started', 'cancelled'])
  })

  it('a workflow treats a cancelled step that had not begun as failed, under the code cancelled', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    await go.cancel((await s.runAt(id, '0')).id)
    expect(await d.engine.ended({ id, kind: 'instance' })).toBe('failed')
    const error = (await d.engine.view(id))?.error
    expect(error).toMatchObject({ code: 'cancelled', node: '0', message: expect.stringMatching(/^cancelled by /) })
    expect((await s.runAt(id, '0')).unknown).toBe(false)
    expect(await s.history((await s.runAt(id, '0')).id)).toEqual(['created', 'cancelled'])
  })

  it('a workflow treats a cancelled step that was active as unknown, and its net decides the consequence', async () => {
    const steps = [node('a.v1', ['b.v1'], { undo: undoBy('unbook.v1') }), node('b.v1')]
    const id = await d.start({ net: net(steps, { onFailure: 'compensate', unknown: 'undo' }) })
    const held = await d.claimOne()
    await go.cancel(held.runId)
    await eventually(async () => (await go.claim('go-1', 'unbook.%')) !== null, 'what may have happened is undone')
    expect((await d.engine.view(id))?.runs.map((run) => [run.node, run.role, run.status, run.unknown])).toEqual([
      ['a.v1', 'work', 'cancelled', true],
      ['a.v1', 'undo', 'leased', false],
    ])
    await go.succeed((await s.runAt(id, 'a.v1')).id)
    expect(await d.engine.ended({ id, kind: 'instance' })).toBe('compensated')
    const recorded = await s.history(held.runId)
    expect(recorded).toEqual(['created', 'leased', 'cancelled'])
  })

  it.each(['ignore', 'undo'] as const)(
    'the late success of a cancelled run is recorded before its undo begins, and undone once (%s)',
    async (unknown) => {
      const late = await Stage.open(place)
      const steps = [node('a', ['b'], { undo: undoBy('undo a') }), node('b')]
      const id = await late.d.start({ net: net(steps, { onFailure: 'compensate', unknown }) })
      const held = await late.d.claimOne()
      await begin(late.d, held)
      const sql = await late.foreign()
      // No sweep here: the report is the first to find the cancel.
      await sql.cancel(held.runId)
      expect((await late.d.succeed(held, 'after all')).status).toBe('stale')
      expect(await late.history(held.runId)).toEqual(['created', 'leased', 'started', 'late_success', 'cancelled'])
      expect(await late.run(held.runId)).toMatchObject({ status: 'cancelled', unknown: false })
      expect(await sql.work('go-1', 'undo %')).toEqual(['undo a'])
      await late.d.engine.sweep()
      expect(await sql.claim()).toBeNull()
      expect(await late.d.state(id)).toBe('compensated')
      expect(await late.d.doctor()).toEqual([])
      await late.close()
    },
  )

  it('a place under a limit is released once', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: 1 })
    const [first, second] = [await enqueue(), await enqueue()]
    expect((await d.claimOne()).runId).toBe(first)
    expect(await d.claim()).toEqual([])
    await go.cancel(first)
    await eventually(async () => (await d.claim()).length === 1, 'the next one has room')
    expect((await s.run(second)).status).toBe('leased')
    expect(await d.claim()).toEqual([])
    expect((await d.store.read.limits()).map((limit) => limit.inUse)).toEqual([1])
  })

  it('a cancel of many runs in one statement reaches each', async () => {
    const ids = await Promise.all(Array.from({ length: 300 }, () => enqueue()))
    await d.claim(100)
    expect(
      (await go.sql(`UPDATE workflow_run SET status = 'cancelled' WHERE status IN ('pending', 'leased')`)).count,
    ).toBe(300)
    for (const id of ids) expect(await d.engine.ended({ id, kind: 'run' })).toBe('cancelled')
    await eventually(async () => (await d.store.sweep.unsettledRuns({ limit: 1 })).length === 0, 'all are settled')
    expect(new Set(d.stopped).size).toBe(100)
  })
})

describe.each(SHARED)('held by plain SQL when its workflow is cancelled on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })

  it('the run is cancelled at once, its worker can read that in the status, and later writes change nothing', async () => {
    const id = await workflow(d, group(job('a.v1', null, 3), job('b.v1'), job('c.v1')))
    const a = await go.claimed('go-1', 'a.%')
    await d.engine.cancelInstance({ id, actor: 'ann' })
    expect(await go.status(a.id)).toBe('cancelled')
    expect(await d.state(id)).toBe('cancelled')
    expect((await go.heartbeat(a.id)).count).toBe(0)
    expect((await go.fail(a)).count).toBe(0)
    expect((await go.succeed(a.id, 'too late')).count).toBe(0)
    await d.engine.sweep()
    expect(await s.run(a.id)).toMatchObject({ status: 'cancelled', unknown: true, attempt: 0, result: null })
    expect(await s.history(a.id)).toEqual(['created', 'leased', 'started', 'cancelled'])
    expect(await d.state(id)).toBe('cancelled')
  })

  it('an outcome written just before the cancel is recorded, and does not advance the workflow', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const a = await go.claimed()
    await go.succeed(a.id, 'in time')
    await d.engine.cancelInstance({ id, actor: null })
    expect(await d.state(id)).toBe('cancelling')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('cancelled')
    expect(await d.results(id)).toMatchObject({ 0: 'in time' })
    expect(await go.claim()).toBeNull()
  })

  it('a deadline ends it too, and the policy of the net undoes it, since it may have taken effect', async () => {
    const a = node('a', [], { undo: undoBy('undo a') })
    const given = { timeoutMs: 5_000, onFailure: 'compensate', unknown: 'undo' } as const
    const id = await d.start({ net: net([a], given) })
    const held = await go.claimed('go-1', 'a', 3600)
    await d.pass(5_001)
    expect(await go.status(held.id)).toBe('cancelled')
    expect(JSON.parse((await s.run(held.id)).error as string)).toMatchObject({ code: 'timeout' })
    expect(await go.work('go-1', 'undo %')).toEqual(['undo a'])
    await d.engine.sweep()
    expect(await d.state(id)).toBe('compensated')
  })

  it('a failure of another step does not take it from its worker, which may complete it', async () => {
    const nodes = [node('a', [], { undo: undoBy('undo a') }), node('b', [], { retry: ONCE })]
    const id = await d.start({ net: net(nodes, { entry: ['a', 'b'], onFailure: 'compensate' }) })
    const a = await go.claimed('go-1', 'a')
    await go.fail(await go.claimed('go-1', 'b'))
    await d.engine.sweep()
    expect(await go.status(a.id)).toBe('leased')
    await go.succeed(a.id, 'done')
    await d.engine.sweep()
    expect(await go.work('go-1', 'undo %')).toEqual(['undo a'])
    await d.engine.sweep()
    expect(await d.state(id)).toBe('compensated')
    expect(await events(d, id)).toContain('instance.compensating')
  })

  it('races between a cancel of the workflow and the end of its runs leave one outcome each', async () => {
    const others = await Promise.all([s.foreign(), s.foreign()])
    for (let round = 0; round < 15; round++) {
      const id = await workflow(d, group(job('a.v1'), job('b.v1'), job('c.v1')))
      const a = await go.claimed('go-1', 'a.%')
      const b = await go.claimed('go-1', 'b.%')
      await Promise.all([
        others[0]?.succeed(a.id, round),
        d.engine.cancelInstance({ id, actor: null }),
        others[1]?.fail(b),
        d.engine.sweep(),
      ])
      await d.engine.sweep()
      expect(await d.state(id)).toBe('cancelled')
      for (const runId of [a.id, b.id]) {
        const { status } = await s.run(runId)
        expect(await s.history(runId)).toEqual(['created', 'leased', 'started', status])
      }
    }
  })
})
