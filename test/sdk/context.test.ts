/**
 * What a handler can report besides its result, through the public API: context, notes, later, an exact failure. On
 * both stores.
 */

import { expect, it, vi } from 'vitest'
import { type Context, chain, type Json, job, type Petrel, task } from '../../src/index.ts'
import { SLOT } from '../../src/net/slots.ts'
import { net, node, run } from '../engine/drive.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from './stores.ts'

const once = { retry: { maxAttempts: 1 } }

onBothStores('the context of a handler', (stage) => {
  const notesOf = async (petrel: Petrel, instanceId: string): Promise<[string | null, string, Json][]> => {
    const asked = { instanceId, afterSeq: 0, limit: 100 }
    const events = await engineOf(petrel).queries.instanceEvents(asked)
    return events.flatMap(({ node, type, data }) => {
      const { notes } = JSON.parse(data ?? '{}')
      return notes === undefined ? [] : [[node, type, notes]]
    })
  }
  const contextOf = async (petrel: Petrel, instanceId: string): Promise<Record<string, Json>> => {
    const slots = await engineOf(petrel).queries.slots({ instanceId, prefix: SLOT.context.prefix })
    return Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), JSON.parse(value) as Json]))
  }

  it('writes into the context of its workflow and adds to its history', async () => {
    const petrel = await stage.open()
    petrel.handle('first', (_, ctx) => {
      ctx.set('customer', { id: 7 })
      ctx.set('gone', 1)
      ctx.tell({ looked: 'twice' })
      return 1
    })
    petrel.handle('second', (_, ctx) => {
      ctx.set('gone', null)
      ctx.tell('and again')
    })
    await petrel.work()
    const handle = await petrel.start(chain([job('first'), job('second')]))
    await handle.result()
    expect(await contextOf(petrel, handle.id)).toEqual({ customer: { id: 7 } })
    expect(await notesOf(petrel, handle.id)).toEqual([
      ['0', 'succeeded', [{ looked: 'twice' }]],
      ['1', 'succeeded', ['and again']],
    ])
  })

  it('also when it fails for good', async () => {
    const petrel = await stage.open()
    petrel.handle('fail', (_, ctx) => {
      ctx.set('seen', true)
      ctx.tell('on the way')
      ctx.fail({ code: 'quota', message: 'no more today', retryable: false, details: { left: 0 } })
    })
    await petrel.work()
    const handle = await petrel.start(chain([job('fail', null, { retry: { maxAttempts: 5 } })]))
    await expect(handle.result()).rejects.toMatchObject({ message: expect.stringContaining('no more today') })
    const view = await engineOf(petrel).view(handle.id)
    expect(JSON.parse(view?.runs[0]?.error ?? 'null')).toEqual({
      code: 'quota',
      message: 'no more today',
      retryable: false,
      details: { left: 0 },
    })
    expect(view?.runs[0]?.attempt).toBe(1)
    expect(await contextOf(petrel, handle.id)).toEqual({ seen: true })
    expect(await notesOf(petrel, handle.id)).toEqual([['0', 'failed', ['on the way']]])
  })

  it('an exact failure that permits a retry is retried by the policy', async () => {
    const petrel = await stage.open()
    petrel.handle('flaky', (_, ctx) => {
      if (ctx.attempt < 3) ctx.fail({ code: 'busy', message: 'come back' })
      return ctx.attempt
    })
    await petrel.work()
    const handle = await petrel.enqueue<number>('flaky', null, { retry: { maxAttempts: 3, initialMs: 1, jitter: 0 } })
    expect(await handle.result()).toBe(3)
  })

  it('continues later from its checkpoint, on the same attempt, and frees its slot in the meantime', async () => {
    const petrel = await stage.open({ pollMs: 50 })
    const seen: [number, number][] = []
    const poll = task('poll', async (_: null, ctx) => {
      const state = (await ctx.loadCheckpoint<{ polls: number }>()) ?? { polls: 0 }
      seen.push([ctx.attempt, state.polls])
      if (state.polls === 2) return { polls: state.polls }
      await ctx.checkpoint({ polls: state.polls + 1 })
      return ctx.later(100)
    })
    const others: string[] = []
    petrel.handle(poll).handle('other', (name: string) => void others.push(name))
    await petrel.work({ concurrency: 1 })
    const handle = await petrel.enqueue(poll, null, once)
    await vi.waitFor(() => expect(seen).toHaveLength(1), 5_000)
    await (await petrel.enqueue('other', 'meanwhile')).result()
    expect(await handle.result()).toEqual({ polls: 2 })
    expect(seen).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
    ])
    expect(others).toEqual(['meanwhile'])
    expect(await handle.row()).toMatchObject({ status: 'succeeded', attempt: 0 })
  })

  it('a postponed run is cancelled like any pending run', async () => {
    const petrel = await stage.open()
    let calls = 0
    petrel.handle('wait', (_, ctx) => {
      calls++
      return ctx.later(3_600_000)
    })
    await petrel.work()
    const handle = await petrel.start(chain([job('wait')]))
    await vi.waitFor(async () => {
      const view = await engineOf(petrel).view(handle.id)
      expect(view?.runs[0]).toMatchObject({ status: 'pending', epoch: 1 })
    }, 5_000)
    await handle.cancel()
    expect(await engineOf(petrel).ended({ id: handle.id, kind: 'instance' })).toBe('cancelled')
    expect(calls).toBe(1)
  })

  it('a reserved name fails the run, with the reason', async () => {
    const petrel = await stage.open()
    petrel.handle('wrong', (_, ctx) => ctx.set('', 1)).handle('right', (_, ctx) => ctx.set('a', 1))
    await petrel.work()
    const [wrong, right] = await petrel.startMany([chain([job('wrong', null, once)]), chain([job('right')])])
    await expect(wrong.result()).rejects.toThrow(/1 to 128 characters/)
    await right.result()
    expect(await contextOf(petrel, right.id)).toEqual({ a: 1 })
  })

  it('receives complete arguments and the program of its node', async () => {
    const petrel = await stage.open()
    const seen: Json[] = []
    const see = async (args: Json, ctx: Context): Promise<void> => {
      seen.push([args, await ctx.program()])
    }
    petrel.handle('long', see).handle('item', see)
    await petrel.work({ concurrency: 1 })
    const text = 'x'.repeat(5000)
    const body = run('item', { args: { n: '{{ item }}' }, program: 'of the item' })
    const each = { kind: 'each', items: '[1, 2]', body, maxInFlight: 1, failFast: false } as const
    const work = [
      node('long', ['each'], { work: run('long', { args: { text: '{{ input.text }}' }, program: 'of the step' }) }),
      node('each', [], { work: { ...each, shared: { text: '{{ input.text }}' } } }),
    ]
    const [started] = await engineOf(petrel).start([{ net: net(work, { inlineBytes: 1024 }), input: { text } }])
    expect(await engineOf(petrel).ended({ id: started?.id as string, kind: 'instance' })).toBe('completed')
    expect(seen).toEqual([
      [{ text }, 'of the step'],
      [{ text, n: 1 }, 'of the item'],
      [{ text, n: 2 }, 'of the item'],
    ])
  })
})
