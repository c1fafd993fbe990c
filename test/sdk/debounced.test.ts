/** petrel.debounced, and petrel.startDefinition. */
import { expect, it } from 'vitest'
import { engineOf } from '../../src/client/engine-of.ts'
import { job, type Petrel, saga, task } from '../../src/index.ts'
import { onBothStores } from './stores.ts'

const INDEX = `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: index }
spec:
  steps:
    - { name: write, timeout: 1h }
`

async function deployed(petrel: Petrel): Promise<Petrel> {
  const { Catalog } = await import('../../src/operations/definitions/catalog.ts')
  const catalog = new Catalog({ engine: engineOf(petrel), logger: null })
  await catalog.deploy({ file: 'index.yaml', text: INDEX, tenant: null, actor: null })
  return petrel
}

const k = { key: 'k', delayMs: 3_600_000 }

onBothStores('debounced starts in a program', (stage) => {
  it('the last start of a definition starts', async () => {
    const petrel = await deployed(await stage.open())
    const first = await petrel.debounced.start(k, 'index', { input: { rev: 1 }, initiator: 'ann' })
    const second = await petrel.debounced.start({ ...k, maxMs: 7_200_000 }, 'index', { input: { rev: 2 } })
    expect(second).toMatchObject({ id: first.id, key: 'k', kind: 'instance', name: 'index', replaced: 1 })
    expect(second.firstAt).toEqual(first.firstAt)
    expect((await petrel.debounced.list()).map(({ id }) => id)).toEqual([first.id])
    await petrel.debounced.startNow(first.id)
    expect((await petrel.instances()).map(({ id, name }) => [id, name])).toEqual([[first.id, 'index']])
    expect(await petrel.debounced.list()).toEqual([])
  })

  it('runs of types, tasks and jobs', async () => {
    const petrel = await stage.open()
    const send = task('mail.send', async (_: { n: number }) => {})
    const ids = [
      (await petrel.debounced.enqueue(k, 'mail.send', { n: 1 })).id,
      (await petrel.debounced.enqueue(k, send, { n: 2 }, { queue: 'mail' })).id,
      (await petrel.debounced.enqueue(k, job('mail.send', { n: 3 }), { tags: ['late'] })).id,
    ]
    expect(new Set(ids).size).toBe(1)
    await petrel.debounced.startNow(ids[0] as string)
    expect((await petrel.runs()).map(({ id, payload }) => [id, JSON.parse(payload)])).toEqual([[ids[0], { n: 3 }]])
    expect((await petrel.search.runs('tag:late')).rows).toHaveLength(1)
    const other = await petrel.debounced.enqueue(k, 'mail.send')
    await petrel.debounced.cancel(other.id)
    await expect(petrel.debounced.startNow(other.id)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('sagas are definitions too', async () => {
    const petrel = await stage.open()
    const pay = { name: 'pay', subject: 'bank.v1.card.charge', buildCommand: () => ({}) }
    const trip = saga({ name: 'trip', steps: [pay] })
    await petrel.saga(trip)
    const { id } = await petrel.debounced.start(k, 'trip', { input: { to: 'Rome' } })
    await petrel.debounced.startNow(id)
    expect((await petrel.instance(id).view()).instance.dialect).toBe('saga')
  })

  it('a definition starts by its name, once under a key', async () => {
    const petrel = await deployed(await stage.open())
    const first = await petrel.startDefinition('index', { input: { rev: 1 }, idempotencyKey: 'a', tags: ['x'] })
    const second = await petrel.startDefinition('index', { idempotencyKey: 'a' })
    expect([second.id, first.created, second.created]).toEqual([first.id, true, false])
    await expect(petrel.startDefinition('none')).rejects.toMatchObject({ code: 'not_found' })
  })

  it.each([
    [{ key: '', delayMs: 1 }, /debounce.key/],
    [{ key: 'k', delayMs: 0 }, /debounce.delayMs/],
    [{ key: 'k', delayMs: 1, maxMs: -1 }, /debounce.maxMs/],
  ])('%j is refused', async (debounce, message) => {
    const petrel = await stage.open()
    await expect(petrel.debounced.enqueue(debounce, 'mail.send')).rejects.toThrow(message)
  })
})
