import { describe, expect, it } from 'vitest'
import { type Batch, Batcher } from './batcher.ts'

/** Answers each batch at once, and records its members. */
function answering(begin?: (run: () => void) => void): {
  readonly batcher: Batcher<string, string>
  readonly batches: string[][]
} {
  const batches: string[][] = []
  const work = async (batch: readonly Batch<string, string>[]): Promise<void> => {
    batches.push(batch.map(({ params }) => params))
    for (const { params, resolve } of batch) resolve(params)
  }
  const sizes = { most: 3, mostBytes: 100, sizeOf: (text: string) => text.length }
  return { batcher: new Batcher({ ...sizes, work, ...(begin === undefined ? {} : { begin }) }), batches }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a batcher', () => {
  it('combines calls of one turn of the event loop, up to its size', async () => {
    const { batcher, batches } = answering()
    process.nextTick(() => void batcher.add('late'))
    await Promise.all([batcher.add('a'), batcher.add('b'), batcher.add('c')])
    await batcher.idle()
    expect(batches).toEqual([['a', 'b', 'c'], ['late']])
  })

  it('lets callers it has just answered call again together', async () => {
    const { batcher, batches } = answering()
    const twice = async (name: string, hops: number): Promise<void> => {
      await batcher.add(name)
      for (let i = 0; i < hops; i++) await undefined
      await batcher.add(`${name}2`)
    }
    await Promise.all([twice('a', 5), twice('b', 12)])
    expect(batches).toEqual([
      ['a', 'b'],
      ['a2', 'b2'],
    ])
  })

  it('delays a single call only for the callers that were answered before it', async () => {
    const { batcher, batches } = answering()
    let turned = false
    setImmediate(() => {
      turned = true
    })
    const answered: string[] = []
    const first = batcher.add('a', true).then((answer) => answered.push(answer))
    const second = first.then(() => batcher.add('b', true)).then((answer) => answered.push(answer))
    void first.then(() => answered.push('the caller that waited for a'))
    await second
    expect({ turned, batches, answered }).toEqual({
      turned: false,
      batches: [['a'], ['b']],
      answered: ['a', 'the caller that waited for a', 'b'],
    })
  })

  it('combines a single call with those already waiting', async () => {
    const { batcher, batches } = answering()
    const all = [batcher.add('a'), batcher.add('b', true)]
    await turn()
    await Promise.all(all)
    expect(batches).toEqual([['a', 'b']])
  })

  it('is idle once no call is waiting or in progress', async () => {
    const { batcher } = answering()
    let done = false
    void batcher.add('a').then(() => {
      done = true
    })
    await batcher.idle()
    expect(done).toBe(true)
    await batcher.idle()
  })
})
