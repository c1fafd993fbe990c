/** Types and prefixes as workers write them, for every way of handing out work. */

import { expect, it } from 'vitest'
import { chain, job } from '../../src/index.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from '../sdk/stores.ts'
import { fetched, ManualWorker, NO_POLL } from './manual-worker.ts'

onBothStores('type filters of workers', (stage) => {
  it('refuses a worker with invalid types or runtime, naming the path', async () => {
    const petrel = await stage.open(NO_POLL)
    const engine = engineOf(petrel)
    const refused = { code: 'invalid_request', details: { path: 'types[1]' } }
    await expect(ManualWorker.open(engine, { types: ['a', 'b%c'] })).rejects.toMatchObject(refused)
    await expect(fetched(engine, null, ['a', 'b\\c%'])).rejects.toMatchObject(refused)
    await expect(fetched(engine, '')).rejects.toMatchObject({ details: { path: 'runtime' } })
    petrel.handle('a', () => null)
    await expect(petrel.work({ runtime: '' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(petrel.work({ types: ['a%b'] })).rejects.toThrow("'%' is allowed only at the end of a type")
  })

  it('names with underscores, percent signs and backslashes are matched literally, in claims and hand-offs', async () => {
    const petrel = await stage.open(NO_POLL)
    const engine = engineOf(petrel)
    const names = ['a_b.v1', 'aXb.v1', 'a%b.v1', 'a\\b.v1', 'ünï_.v1']
    const enqueue = () => engine.enqueue(names.map((type) => ({ type, payload: null })))
    const taken: Record<string, string[]> = {
      'a_%': ['a_b.v1'],
      'a\\%%': ['a%b.v1'],
      'a\\\\%': ['a\\b.v1'],
      'a\\b.v1': ['a\\b.v1'],
      'a\\%b.v1': ['a%b.v1'],
      'ünï\\_%': ['ünï_.v1'],
      '%': [...names].sort(),
    }
    for (const [filter, wanted] of Object.entries(taken)) {
      const hand = await ManualWorker.open(engine, { types: [filter] })
      await enqueue()
      expect(await hand.types(), filter).toEqual(wanted)
      // No backlog: a new run goes directly to a waiting worker.
      hand.room = 10
      await enqueue()
      expect(hand.delivered.map((delivery) => delivery.type).sort(), filter).toEqual(wanted)
      hand.room = 0
      await fetched(engine, null, [filter])
      await enqueue()
      expect(await fetched(engine, null, [filter]), filter).toEqual(wanted)
      await fetched(engine, null)
    }
  })

  it('an SDK worker with a runtime and a prefix takes those types of that runtime', async () => {
    const petrel = await stage.open(NO_POLL)
    for (const type of ['billing.invoice.v1', 'billing.refund.v1', 'mail.v1']) petrel.handle(type, () => type)
    await petrel.registry.put({ workflowName: 'billing.refund.v1', runtime: 'python' })
    await petrel.work({ types: ['billing.%'], runtime: 'go', pollMs: 60_000 })
    const [invoice, refund, mail] = await petrel.enqueueMany(
      ['billing.invoice.v1', 'billing.refund.v1', 'mail.v1'].map((type) => job<string>(type)),
    )
    expect(await invoice?.result()).toBe('billing.invoice.v1')
    expect([await refund?.status(), await mail?.status()]).toEqual(['pending', 'pending'])
    const [worker] = await engineOf(petrel).queries.workers()
    expect(worker).toMatchObject({ runtime: 'go', types: ['billing.invoice.v1', 'billing.refund.v1'] })
    await petrel.registry.put({ workflowName: 'billing.refund.v1', runtime: 'go' })
    expect(await refund?.result()).toBe('billing.refund.v1')
  })

  it('a worker of one tenant takes its runs, claimed and handed over, and no others', async () => {
    const petrel = await stage.open(NO_POLL)
    petrel.handle('a', (_args: unknown, ctx) => ctx.tenant)
    const worker = await petrel.work({ tenant: 'acme', pollMs: 60_000 })
    const others = await Promise.all([
      petrel.enqueue('a', null, { tenant: 'globex' }),
      petrel.enqueue('a', null),
      ...Array.from({ length: 20 }, () => petrel.enqueue('a', null, { tenant: 'globex' })),
    ])
    const own = await Promise.all([1, 2, 3].map(() => petrel.enqueue<string>('a', null, { tenant: 'acme' })))
    expect(await Promise.all(own.map((run) => run.result()))).toEqual(['acme', 'acme', 'acme'])
    const chained = await petrel.start(chain(job('a'), job<string>('a')), { tenant: 'acme' })
    expect(await chained.result()).toBe('acme')
    const foreign = await petrel.start(chain(job('a'), job('a')), { tenant: 'globex' })
    for (const run of others) expect(await run.status()).toBe('pending')
    await worker.stop()
    const all = await petrel.work({ pollMs: 60_000 })
    expect(await foreign.result()).toBe('globex')
    expect(await others[1]?.result()).toBe(null)
    await all.stop()
  })
})
