/** Items of a bulk operation share transactions; each has the result that it would have alone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sleep } from '../../src/kernel/sleep.ts'
import type { Transaction } from '../../src/store/store.ts'
import { Drive, net, node, PLACES } from '../engine/drive.ts'

const MANY = 60
const ORDER = { tenant: null, actor: 'ada', reason: null, target: 'instances', parameters: {}, rate: null } as const

describe.each(PLACES)('items that share transactions, on $name', (place) => {
  let drive: Drive
  beforeEach(async () => {
    drive = await Drive.open(place)
  })
  afterEach(() => drive.close())

  const once = net([node('pay')], { name: 'order' })
  const start = async (): Promise<readonly string[]> => {
    const started = await drive.engine.start(Array.from({ length: MANY }, () => ({ net: once })))
    return started.map(({ id }) => id)
  }
  const carriedOut = async (id: string) => {
    for (;;) {
      // A sweep does not wait long for them.
      await drive.engine.sweep()
      const operation = await drive.engine.bulk.get(id)
      if (operation?.state !== 'running') return operation
      await sleep(1)
    }
  }

  it('fewer transactions than items', async () => {
    await start()
    const { id } = await drive.engine.bulk.create({ ...ORDER, action: 'cancel', query: 'state:running' })
    const transact = drive.store.transact.bind(drive.store)
    let count = 0
    drive.store.transact = <T>(transaction: Transaction<T>) => {
      count++
      return transact(transaction)
    }
    expect(await carriedOut(id)).toMatchObject({ state: 'completed', succeeded: MANY })
    expect(count).toBeLessThan(MANY / 2)
  })

  it('refusals among them do not change what the others do', async () => {
    const ids = await start()
    const { id } = await drive.engine.bulk.create({ ...ORDER, action: 'cancel', query: '' })
    const refused = ids.filter((_, i) => i % 7 === 0)
    for (const one of refused) await drive.engine.cancelInstance({ id: one, actor: null })
    const succeeded = MANY - refused.length
    expect(await carriedOut(id)).toMatchObject({ state: 'completed', succeeded, refused: refused.length, failed: 0 })
    const items = await drive.engine.bulk.items({ operationId: id, state: 'refused', limit: MANY, before: null })
    expect(items.map(({ itemId }) => itemId).toSorted()).toEqual(refused.toSorted())
    expect(new Set(items.map(({ code }) => code))).toEqual(new Set(['conflict']))
    expect(await drive.store.read.countInstances()).toEqual(new Map([['cancelled', MANY]]))
    expect(await drive.doctor()).toEqual([])
  })

  it('one that no transaction can store fails alone', async () => {
    const ids = await start()
    const bad = ids[MANY / 2] as string
    const { id } = await drive.engine.bulk.create({ ...ORDER, action: 'cancel', query: '' })
    const transact = drive.store.transact.bind(drive.store)
    drive.store.transact = async <T>(transaction: Transaction<T>) => {
      if (transaction.roots.includes(bad)) throw new Error('it cannot be stored')
      return transact(transaction)
    }
    expect(await carriedOut(id)).toMatchObject({ state: 'completed', succeeded: MANY - 1, refused: 0, failed: 1 })
    const [item] = await drive.engine.bulk.items({ operationId: id, state: 'failed', limit: 9, before: null })
    expect(item).toMatchObject({ itemId: bad, code: 'engine_error', message: 'it cannot be stored' })
  })
})
