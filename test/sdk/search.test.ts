import { expect, it } from 'vitest'
import { chain, job } from '../../src/index.ts'
import { onBothStores } from './stores.ts'

onBothStores('queries and error groups in the SDK', (stage) => {
  it('finds instances and runs by queries, in pages, and of a tenant', async () => {
    const petrel = await stage.open()
    const one = await petrel.start(chain(job('a')), { tags: ['eu'], meta: { team: 'sales' }, initiator: 'ada' })
    const two = await petrel.start(chain(job('b')), { tags: ['eu'], tenant: 'acme' })
    await petrel.enqueue('mail', null, { tags: ['eu'] })
    const ids = async (...args: Parameters<typeof petrel.search.instances>) =>
      (await petrel.search.instances(...args)).rows.map(({ id }) => id)
    expect(await ids('tag:eu')).toEqual([two.id, one.id])
    expect(await ids('tag:eu', { tenant: 'acme' })).toEqual([two.id])
    expect(await ids('meta.team:sales initiator:ada')).toEqual([one.id])
    const page = await petrel.search.instances('tag:eu', { limit: 1 })
    expect(page).toMatchObject({ next: two.id, complete: true })
    expect(await ids('tag:eu', { limit: 1, before: String(page.next) })).toEqual([one.id])
    expect((await petrel.search.runs('tag:eu')).rows.map(({ type }) => type)).toEqual(['mail'])
    expect(await petrel.search.instanceCounts('', { tenant: 'acme' })).toEqual([
      { state: 'running', count: 1, more: false },
    ])
    expect(await petrel.search.runCounts('type:mail')).toEqual([{ state: 'pending', count: 1, more: false }])
    await expect(petrel.search.runs('tpye:mail')).rejects.toMatchObject({
      code: 'invalid_request',
      details: { offset: 0, did_you_mean: 'type' },
    })
    await expect(petrel.start(chain(job('a')), { tags: [''] })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(petrel.enqueue('mail', null, { tags: [''] })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('lists groups of failures, and changes their state', async () => {
    const petrel = await stage.open()
    petrel.handle('charge', () => {
      throw new Error('card 17 was declined')
    })
    await petrel.work()
    const fail = async (): Promise<void> => {
      const run = await petrel.enqueue('charge', null, { retry: { maxAttempts: 1 } })
      await run.result().catch(() => undefined)
    }
    await fail()
    const [group] = (await petrel.errors.list({ text: 'declined', states: ['open'] })).rows
    const fingerprint = group?.fingerprint ?? ''
    expect(group).toMatchObject({ message: 'card # was declined', count: 1 })
    expect(await petrel.errors.resolve(fingerprint, { actor: 'ada', reason: 'v2' })).toMatchObject({
      state: 'resolved',
      stateBy: 'ada',
      reason: 'v2',
    })
    expect(await petrel.errors.ignore(fingerprint, { times: 1 })).toMatchObject({ state: 'ignored', ignoredCount: 2 })
    await fail()
    expect(await petrel.errors.get(fingerprint)).toMatchObject({ state: 'open', count: 2 })
    expect(await petrel.errors.ignore(fingerprint, { forMs: 60_000 })).toMatchObject({ state: 'ignored' })
    expect(await petrel.errors.reopen(fingerprint)).toMatchObject({ state: 'open' })
    expect(await petrel.errors.get('0123456789abcdef')).toBeNull()
    await expect(petrel.errors.resolve('0123456789abcdef')).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.errors.list({ before: 'x' })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
