/** Going back with the SDK: retries from a step, forks, previews, waits cut short, runs done again. */
import { expect, it } from 'vitest'
import { chain, group, job } from '../../src/index.ts'
import { onBothStores } from './stores.ts'

onBothStores('going back with the SDK', (stage) => {
  it('retries from a job with other arguments, and forks what has completed', async () => {
    const petrel = await stage.open()
    const seen: unknown[] = []
    petrel.handle('one', (n: number) => void seen.push(['one', n]))
    petrel.handle('two', (n: number) => {
      seen.push(['two', n])
      if (n === 2) throw new Error('not 2')
    })
    await petrel.work()
    const first = await petrel.start(chain(job('one', 1), job('two', 2, { retry: { maxAttempts: 1 } })))
    await first.result().catch(() => {})
    const { again, carried } = await first.previewRetry({ from: { step: '1' } })
    expect([again.map(({ step }) => step), carried.map(({ step }) => step)]).toEqual([['1'], ['0']])
    const second = await first.retry({ from: { step: '1' }, args: 3, actor: 'ann', startKey: 'again' })
    await second.result()
    expect((await first.retry({ from: { step: '1' }, args: 3, startKey: 'again' })).id).toBe(second.id)
    const fork = await second.fork({ from: { step: '0' } })
    // A fork of the retry renders the later job again, from the arguments of the start.
    await fork.result().catch(() => {})
    expect(seen).toEqual([
      ['one', 1],
      ['two', 2],
      ['two', 3],
      ['one', 1],
      ['two', 2],
    ])
    await expect(second.retry()).rejects.toMatchObject({ code: 'conflict' })
  })

  it('a job of a group that failed is done again while the others run', async () => {
    const petrel = await stage.open()
    let broken = true
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    petrel.handle('flaky', () => {
      if (broken) throw new Error('broken')
      return 'mended'
    })
    petrel.handle('slow', () => held)
    await petrel.work()
    const both = await petrel.start(group(job('flaky', null, { retry: { maxAttempts: 1 } }), job('slow', null)))
    const failed = await failedRun(both)
    broken = false
    const run = petrel.run(failed)
    expect((await run.redrive('ann')).id).toBe(failed)
    expect(await run.result()).toBe('mended')
    release()
    expect(await both.result()).toEqual(['mended', null])
  })

  /** The id of its run that has failed, as soon as there is one. */
  async function failedRun(handle: {
    watch(): AsyncIterable<{ type: string; runId: string | null }>
  }): Promise<string> {
    for await (const { type, runId } of handle.watch()) if (type === 'failed' && runId !== null) return runId
    throw new Error('no run has failed')
  }

  it('a run that is due later begins at once', async () => {
    const petrel = await stage.open()
    petrel.handle('mail', () => 'sent')
    await petrel.work()
    const run = await petrel.enqueue('mail', null, { delayMs: 3_600_000 })
    expect(await run.retryNow('ann')).toBe('pending')
    expect(await run.result()).toBe('sent')
    await expect(run.retryNow()).rejects.toMatchObject({ code: 'conflict' })
  })
})
