/** Workers that stop while they work: nothing is lost, and nothing is repeated unnecessarily. On both stores. */
import { expect, it, vi } from 'vitest'
import { job, Shutdown } from '../../src/index.ts'
import { onBothStores } from './stores.ts'

onBothStores('stopping', (stage) => {
  it('lets executing work end, and returns the rest unstarted', async () => {
    const petrel = await stage.open()
    let open!: () => void
    const passed = new Promise<void>((resolve) => void (open = resolve))
    let executing = 0
    petrel.handle('wait', async (n: number) => {
      executing++
      await passed
      return n
    })
    const handles = await petrel.enqueueMany([1, 2, 3, 4, 5].map((n) => job<number>('wait', n)))
    const worker = await petrel.work({ concurrency: 2 })
    await vi.waitFor(() => expect(executing).toBe(2))
    const stopped = worker.stop()
    await new Promise((resolve) => setTimeout(resolve, 20))
    open()
    await stopped
    const rows = await Promise.all(handles.map((h) => h.row()))
    expect(rows.map((r) => r.status).sort()).toEqual(['pending', 'pending', 'pending', 'succeeded', 'succeeded'])
    expect(rows.every((r) => r.attempt === 0)).toBe(true)
    expect(executing).toBe(2)
    await petrel.work()
    expect(await Promise.all(handles.map((h) => h.result()))).toEqual([1, 2, 3, 4, 5])
    expect(executing).toBe(5)
  })

  it('aborts work that does not end in time; it runs again elsewhere', async () => {
    const petrel = await stage.open()
    const reasons: unknown[] = []
    petrel.handle('long', (_, ctx) => {
      if (ctx.attempt > 1) return 'finished elsewhere'
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          reasons.push(ctx.signal.reason)
          reject(new Error('interrupted'))
        })
      })
    })
    const worker = await petrel.work()
    const handle = await petrel.enqueue('long', null, { retry: { initialMs: 5 } })
    await vi.waitFor(() => expect(worker.load.executing).toBe(1))
    await worker.stop({ graceMs: 30 })
    expect(reasons[0]).toBeInstanceOf(Shutdown)
    expect(JSON.parse((await handle.row()).error ?? '{}')).toMatchObject({ code: 'shutdown' })
    await petrel.work()
    expect(await handle.result()).toBe('finished elsewhere')
  })

  it('close stops the workers first, and later calls are refused', async () => {
    const petrel = await stage.open()
    petrel.handle('slow', () => new Promise((resolve) => setTimeout(() => resolve('done'), 50)))
    const worker = await petrel.work()
    const handle = await petrel.enqueue('slow')
    await vi.waitFor(() => expect(worker.load.executing).toBe(1))
    await petrel.close()
    expect(worker.state).toBe('stopped')
    await expect(petrel.enqueue('slow')).rejects.toMatchObject({ code: 'unavailable' })
    await petrel.close()
    const again = await stage.open()
    expect(await again.run(handle.id).result()).toBe('done')
  })

  it('two workers share the work, and nothing runs twice', async () => {
    const petrel = await stage.open()
    const other = await stage.open()
    const seen: number[] = []
    for (const each of [petrel, other]) each.handle('count', (n: number) => void seen.push(n))
    const handles = await petrel.enqueueMany(Array.from({ length: 500 }, (_, n) => job('count', n)))
    await Promise.all([petrel.work(), other.work()])
    await Promise.all(handles.map((h) => h.result()))
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, n) => n))
  })
})
