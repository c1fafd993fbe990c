/** `petrel.operations`: one action on everything that a search finds. */
import { expect, it } from 'vitest'
import { chain, job, type Petrel } from '../../src/index.ts'
import { onBothStores } from './stores.ts'

onBothStores('bulk operations in a program', (stage) => {
  const start = async (petrel: Petrel, name: string, count: number, tenant?: string): Promise<string[]> => {
    const orders = Array.from({ length: count }, () => chain(job('pay')))
    const started = await petrel.startMany(orders, { name, ...(tenant === undefined ? {} : { tenant }) })
    return started.map(({ id }) => id)
  }

  it('previews, orders, waits for the end, and lists the results', async () => {
    const petrel = await stage.open()
    const { operations } = petrel
    const ids = await start(petrel, 'listed', 2)
    const asked = { action: 'cancel', query: 'name:listed' } as const
    expect(await operations.preview(asked)).toEqual({ count: 2, more: false, examples: ids.toReversed(), refusals: [] })
    const { id } = await operations.order({ ...asked, actor: 'ann', reason: 'wrong price' })
    expect(await operations.ended(id)).toMatchObject({
      state: 'completed',
      succeeded: 2,
      actor: 'ann',
      reason: 'wrong price',
    })
    expect((await operations.items(id, { state: 'succeeded' })).map(({ itemId }) => itemId)).toEqual(ids.toReversed())
    expect((await operations.list({ states: ['completed'], limit: 1 })).map((one) => one.id)).toEqual([id])
    expect((await operations.preview(asked)).refusals).toEqual([{ reason: 'it is already cancelled', count: 2 }])
  })

  it('stops, resumes and changes the rate', async () => {
    const petrel = await stage.open()
    const { operations } = petrel
    await start(petrel, 'paced', 3)
    const { id } = await operations.order({ action: 'cancel', query: 'name:paced', ratePerMinute: 1 })
    expect((await operations.stop(id, { actor: 'ann' })).state).toBe('stopped')
    expect((await operations.ended(id)).state).toBe('stopped')
    await expect(operations.stop(id)).rejects.toMatchObject({ code: 'conflict' })
    expect((await operations.setRate(id, null)).rate).toBeNull()
    await expect(operations.setRate(id, 0)).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await operations.resume(id)).state).toBe('running')
    expect(await operations.ended(id)).toMatchObject({ state: 'completed', succeeded: 3 })
  })

  it('acts for one tenant, on runs, and refuses what is wrong', async () => {
    const petrel = await stage.open()
    const { operations } = petrel
    const [own] = await start(petrel, 'mine', 1, 'acme')
    await start(petrel, 'mine', 1, 'other')
    const everything = { action: 'cancel', query: '', tenant: 'acme' } as const
    await expect(operations.order(everything)).rejects.toMatchObject({ details: { field: 'confirm', count: 1 } })
    const { id } = await operations.order({ ...everything, confirm: 'everything' })
    await operations.ended(id)
    expect((await operations.items(id)).map(({ itemId }) => itemId)).toEqual([own])
    await petrel.enqueue('mail')
    const runs = await operations.order({ action: 'cancel', target: 'runs', query: 'type:mail' })
    expect(await operations.ended(runs.id)).toMatchObject({ target: 'runs', succeeded: 1 })
    await expect(operations.order({ action: 'retry', target: 'runs', query: 'type:mail' })).rejects.toThrow(
      'does not act on',
    )
    await expect(operations.get('01890000-0000-7000-8000-000000000000')).rejects.toMatchObject({ code: 'not_found' })
  })
})
