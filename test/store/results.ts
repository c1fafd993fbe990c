import { expect, it } from 'vitest'
import { type ResultText, TOO_LONG } from '../../src/model/queries/firings.ts'
import type { InstanceRow, RunRow } from '../../src/model/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { anInstance, aStep, T0 } from './rows.ts'
import { load, put } from './subject.ts'
import type { Current } from './suite.ts'

/** Both ways to read a result must agree. */
async function result(store: Store, instance: InstanceRow, node: string): Promise<unknown> {
  const key = `${instance.id}/${node}`
  const loaded = (await load(store, { results: [{ instanceId: instance.id, node }] })).results.get(key)
  const read = (await store.read.results({ instanceId: instance.id, nodes: [node] })).get(key)
  expect(read).toEqual(loaded)
  return loaded === null || loaded === undefined ? loaded : JSON.parse(loaded)
}

export function resultTopic(current: Current): void {
  const done = (instance: InstanceRow, node: string, value: unknown, given: Partial<RunRow> = {}) =>
    aStep(instance, node, {
      status: 'succeeded',
      result: value === null ? null : JSON.stringify(value),
      settledAt: T0,
      finishedAt: T0,
      ...given,
    })

  it('is that of the latest succeeded work', async () => {
    const { store } = current()
    const instance = anInstance()
    await put(store, {
      instances: { insert: [instance] },
      runs: {
        insert: [
          done(instance, 'a', 'old', { fire: 1 }),
          done(instance, 'a', { n: 1 }, { fire: 3 }),
          done(instance, 'a', 'undone', { fire: 4, role: 'undo' }),
          aStep(instance, 'a', { fire: 5, status: 'failed', result: '"failed"', settledAt: T0, finishedAt: T0 }),
          aStep(instance, 'a', { fire: 6 }),
          done(instance, 'none', null),
        ],
      },
    })
    expect(await result(store, instance, 'a')).toEqual({ n: 1 })
    expect(await result(store, instance, 'none')).toBeNull()
    expect(await result(store, instance, 'unknown')).toBeNull()
  })

  it('of an each is an object by item, of its latest fire, with its failures', async () => {
    const { store } = current()
    const instance = anInstance()
    await put(store, {
      instances: { insert: [instance] },
      runs: {
        insert: [
          done(instance, 'loop', 'old', { fire: 1, item: 0 }),
          done(instance, 'loop', 'zero', { fire: 2, item: 0 }),
          done(instance, 'loop', null, { fire: 2, item: 2 }),
          done(instance, 'loop', [10], { fire: 2, item: 10 }),
          aStep(instance, 'loop', {
            fire: 2,
            item: 1,
            status: 'failed',
            error: '{"code":"x"}',
            settledAt: T0,
            finishedAt: T0,
          }),
          aStep(instance, 'loop', { fire: 2, item: 3 }),
          aStep(instance, 'bad', {
            fire: 1,
            item: 0,
            status: 'failed',
            error: '{"code":"y"}',
            settledAt: T0,
            finishedAt: T0,
          }),
        ],
      },
    })
    expect(await result(store, instance, 'loop')).toEqual({
      0: 'zero',
      1: { error: { code: 'x' }, state: 'failed' },
      2: null,
      10: [10],
    })
    expect(await result(store, instance, 'bad')).toEqual({ 0: { error: { code: 'y' }, state: 'failed' } })
  })

  it('of a child is stored in a slot', async () => {
    const { store } = current()
    const instance = anInstance()
    await put(store, {
      instances: { insert: [instance] },
      runs: { insert: [done(instance, 'both', 'run'), done(instance, 'empty', null)] },
      slots: {
        put: ['sub', 'both', 'empty'].map((node) => ({
          instanceId: instance.id,
          key: `r:${node}`,
          value: '{"from":"slot"}',
        })),
      },
    })
    expect(await result(store, instance, 'sub')).toEqual({ from: 'slot' })
    expect(await result(store, instance, 'empty')).toEqual({ from: 'slot' })
    expect(await result(store, instance, 'both')).toBe('run')
  })

  it('of one firing of a list is read up to a bound, and beyond it not at all', async () => {
    const { store } = current()
    const instance = anInstance()
    const items = Array.from({ length: 250 }, (_, item) => done(instance, 'loop', 'ü'.repeat(4), { fire: 2, item }))
    const failed = aStep(instance, 'loop', { fire: 2, item: 250, status: 'failed', settledAt: T0, finishedAt: T0 })
    const others = [done(instance, 'loop', 'old', { fire: 1, item: 0 }), done(instance, 'one', 'x'.repeat(100))]
    await put(store, { instances: { insert: [instance] }, runs: { insert: [...items, failed, ...others] } })
    const at = async (node: string, fire: number, maxBytes: number): Promise<ResultText> => {
      const wanted = { instanceId: instance.id, node, fire, maxBytes }
      const loaded = (await load(store, { resultsAt: [wanted] })).resultsAt.get(`${instance.id}/${node}/${fire}`)
      expect(await store.read.resultAt(wanted)).toEqual(loaded)
      return loaded as ResultText
    }
    const all = Object.fromEntries(items.map(({ item }) => [item, 'üüüü']))
    expect(JSON.parse((await at('loop', 2, 2500)) as string)).toEqual(all)
    expect(await at('loop', 2, 2499)).toBe(TOO_LONG)
    expect(await at('loop', 2, 1)).toBe(TOO_LONG)
    expect(JSON.parse((await at('loop', 1, 2499)) as string)).toEqual({ 0: 'old' })
    expect(await at('loop', 3, 2499)).toBeNull()
    // A single run is bounded by the limit of results.
    expect(JSON.parse((await at('one', (others[1] as RunRow).fire, 10)) as string)).toHaveLength(100)
  })
}
