/** Waits that are cut short: between two attempts, until a later time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import { HELD_AT } from '../../src/model/rows.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const BROKEN = { retry: ONCE, onFailure: 'skip' } as const
const SLOW = { ...ONCE, maxAttempts: 3, initialMs: 3_600_000, maxMs: 3_600_000 }

describe.each(PLACES)('retrying now on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const now = (id: string) => d.engine.retryNow({ id, actor: 'ann' })
  const enqueued = async (runAt?: number): Promise<string> => {
    const [made] = await d.engine.enqueue([
      { type: 'job', payload: null, ...(runAt === undefined ? {} : { runAt }) } as never,
    ])
    return (made as { id: string }).id
  }

  it('a run between two attempts is due at once; its attempts stay as they are', async () => {
    await d.start({ net: net([node('a', [], { retry: SLOW })]) })
    const w = await d.claimOne()
    await d.fail(w)
    expect(await d.claim()).toEqual([])
    expect(await now(w.runId)).toMatchObject({ status: 'pending', attempt: 1, maxAttempts: 3 })
    const again = await d.claimOne()
    expect(again.runId).toBe(w.runId)
    await d.fail(again)
    await now(w.runId)
    await d.fail(await d.claimOne())
    expect((await d.store.read.run(w.runId))?.status).toBe('failed')
    const recorded = (await d.store.read.runHistory(w.runId)).filter((e) => e.type === 'run.due_now')
    expect(recorded.map((e) => [e.actor, typeof JSON.parse(e.data as string).run_at])).toEqual([
      ['ann', 'string'],
      ['ann', 'string'],
    ])
  })

  it('a run that is due later is due at once', async () => {
    const later = (await d.store.now()) + 3_600_000
    const id = await enqueued(later)
    expect(await d.claim()).toEqual([])
    await now(id)
    expect((await d.claimOne()).runId).toBe(id)
  })

  it('a run in any other state is refused, with the state and what would be right', async () => {
    const due = await enqueued()
    await expect(now(due)).rejects.toMatchObject({
      code: 'conflict',
      details: { status: 'pending', wait: 'available' },
    })
    const held = await enqueued(HELD_AT)
    await expect(now(held)).rejects.toMatchObject({
      code: 'conflict',
      details: { wait: 'held', hint: expect.stringContaining('activate') },
    })
    const w = await d.claimOne()
    await expect(now(w.runId)).rejects.toMatchObject({ code: 'conflict', details: { status: 'leased' } })
    await d.succeed(w)
    await expect(now(w.runId)).rejects.toMatchObject({ code: 'conflict', details: { status: 'succeeded' } })
    await expect(now('00000000-0000-7000-8000-000000000000')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('of an instance, all that wait for a time, also in what is nested in it', async () => {
    const inner = net([node('x', [], { retry: SLOW })], { name: 'inner' })
    const child = { kind: 'child', net: netHash(inner), mode: 'attached', input: null } as const
    const flow = net([
      node('s', ['a', 'b', 'c', 'd']),
      node('a', [], { retry: SLOW }),
      node('b', [], { work: run('b', { delayMs: 3_600_000 }) }),
      node('c', [], { work: child }),
      node('d'),
    ])
    const id = await d.start({ net: flow, nets: [inner] })
    await d.succeed(await d.claimOne())
    for (const w of await d.claim()) if (w.node !== 'd') await d.fail(w as Delivery)
    expect(await d.engine.retryInstanceNow({ id, actor: 'ann' })).toBe(3)
    expect((await d.claim()).map((w) => w.node).sort()).toEqual(['a', 'b', 'x'])
    await expect(d.engine.retryInstanceNow({ id, actor: 'ann' })).rejects.toMatchObject({
      code: 'conflict',
      details: { state: 'running', hint: expect.stringContaining('petrel why') },
    })
  })

  it('what is paused stays so: its runs are refused, and one that is done again in place waits for the resume', async () => {
    const flow = net([node('s', ['a', 'b', 'c']), node('a', [], { retry: SLOW }), node('b', [], BROKEN), node('c')])
    const id = await d.start({ net: flow })
    await d.succeed(await d.claimOne())
    const claimed = await d.claim()
    const [a, b, c] = ['a', 'b', 'c'].map((key) => claimed.find((w) => w.node === key) as Delivery)
    await d.fail(a as Delivery)
    await d.fail(b as Delivery, { retryable: false })
    await d.engine.pauseInstance({ id, actor: 'ann', reason: null, timeouts: 'stop' })
    await expect(now((a as Delivery).runId)).rejects.toMatchObject({
      code: 'conflict',
      details: { wait: 'paused', hint: expect.stringContaining('resumed') },
    })
    await expect(d.engine.retryInstanceNow({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { hint: 'It is paused: resume it.' },
    })
    expect((await d.engine.redrive({ runId: (b as Delivery).runId, actor: null })).status).toBe('pending')
    expect(await d.claim()).toEqual([])
    await d.engine.unpauseInstance({ id, actor: 'ann' })
    expect((await d.claim()).map((w) => w.node)).toEqual(['b'])
    await d.succeed(c as Delivery)
  })
})
