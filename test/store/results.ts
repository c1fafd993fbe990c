import { expect, it } from 'vitest'
import type { InstanceRow, RunRow } from '../../src/store/rows.ts'
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

  it('of a child lies in a slot', async () => {
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
}
