/** Chains, groups, batches and what is nested in them, through the public API, on both stores. */
import { expect, it } from 'vitest'
import {
  batch,
  chain,
  group,
  job,
  PetrelError,
  type StepContext,
  Terminal,
  task,
  WorkflowFailed,
} from '../../src/index.ts'
import { onBothStores } from './stores.ts'

const increment = task('increment', async (n: number) => n + 1)
const add = task('add', async (n: number, ctx: StepContext<number>) => (await ctx.previous()) + n)
const sum = task('sum', async (_: unknown, ctx: StepContext<readonly (number | null)[]>) => {
  return (await ctx.previous()).reduce<number>((total, n) => total + (n ?? 0), 0)
})
const refuse = task('refuse', async (why: string): Promise<number> => {
  throw new Terminal(why, { code: 'refused' })
})
const once = { retry: { maxAttempts: 1 } }

onBothStores('workflows', (stage) => {
  async function open() {
    const petrel = await stage.open()
    petrel.handle(increment).handle(add).handle(sum).handle(refuse)
    return petrel
  }

  it('a chain passes each result to the next step, and returns the last', async () => {
    const petrel = await open()
    await petrel.work()
    const handle = await petrel.start(chain(job(increment, 1), job(add, 10), job(add, 100)))
    expect(await handle.result()).toBe(112)
    expect(await handle.status()).toBe('completed')
    expect(await petrel.instance(handle.id).result()).toBe(112)
  })

  it('a step receives the results of all previous steps by position', async () => {
    const petrel = await open()
    const look = task('look', async (_: unknown, ctx) => await ctx.results())
    petrel.handle(look)
    await petrel.work()
    const handle = await petrel.start(chain(job(increment, 1), job(increment, 2), job(look)))
    expect(await handle.result()).toEqual({ 0: 2, 1: 3 })
  })

  it('a chain stops at a step that fails, and reports the step and the error', async () => {
    const petrel = await open()
    const ran: string[] = []
    petrel.handle('after', () => void ran.push('after'))
    await petrel.work()
    const handle = await petrel.start(chain(job(increment, 1), job(refuse, 'no more'), job('after')))
    const error = await handle.result().catch((e: unknown) => e)
    expect(error).toBeInstanceOf(WorkflowFailed)
    expect(error).toMatchObject({ code: 'refused', state: 'failed', node: '1', id: handle.id })
    expect((error as WorkflowFailed).error).toMatchObject({ message: 'no more', type: 'Terminal' })
    expect(ran).toEqual([])
  })

  it('a group returns the results of its jobs by index', async () => {
    const petrel = await open()
    await petrel.work()
    const handle = await petrel.start(group(job(increment, 1), job(increment, 2), job(increment, 3)))
    expect(await handle.result()).toEqual([2, 3, 4])
    expect(await petrel.instance(handle.id).result()).toEqual([2, 3, 4])
  })

  it('a group of many jobs returns all results', async () => {
    const petrel = await open()
    await petrel.work()
    const numbers = Array.from({ length: 1_200 }, (_, i) => i)
    const handle = await petrel.start(group(numbers.map((n) => job(increment, n))))
    expect(await handle.result()).toEqual(numbers.map((n) => n + 1))
  })

  it('a group fails if one job fails, after all have ended', async () => {
    const petrel = await open()
    const ran: number[] = []
    petrel.handle('slow', async (n: number) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      ran.push(n)
    })
    await petrel.work()
    const handle = await petrel.start(group(job(refuse, 'x', once), job('slow', 1), job('slow', 2)))
    await expect(handle.result()).rejects.toMatchObject({ state: 'failed', code: 'items_failed' })
    expect(ran.sort()).toEqual([1, 2])
  })

  it('a batch calls back on success', async () => {
    const petrel = await open()
    const called: string[] = []
    petrel.handle(
      'note',
      async (name: string, ctx) => void called.push(`${name} ${JSON.stringify(await ctx.previous())}`),
    )
    await petrel.work()
    const jobs = [job(increment, 1), job(increment, 2)]
    const handle = await petrel.start(
      batch(jobs, {
        onComplete: job('note', 'complete'),
        onSuccess: job('note', 'success'),
        onFailure: job('note', 'failure'),
      }),
    )
    expect(await handle.result()).toEqual([2, 3])
    expect(called.sort()).toEqual(['complete [2,3]', 'success [2,3]'])
  })

  it('a batch calls back on failure, and is completed when its callbacks succeed', async () => {
    const petrel = await open()
    const called: string[] = []
    petrel.handle('note', async (name: string, ctx) => {
      const results = await ctx.results()
      called.push(`${name} ${ctx.role} ${JSON.stringify(results['0'])}`)
    })
    await petrel.work()
    const handle = await petrel.start(
      batch([job(increment, 1), job(refuse, 'x')], {
        onComplete: job('note', 'complete'),
        onSuccess: job('note', 'success'),
        onFailure: job('note', 'failure'),
      }),
    )
    const [first] = await handle.result()
    expect(first).toBe(2)
    expect(called.sort()).toEqual(['complete final 2', 'failure final 2'])
    expect(await handle.status()).toBe('completed')
  })

  it('a batch fails when a callback fails', async () => {
    const petrel = await open()
    await petrel.work()
    const handle = await petrel.start(batch([job(increment, 1)], { onComplete: job(refuse, 'callback') }))
    await expect(handle.result()).rejects.toMatchObject({ state: 'failed', node: 'on_complete' })
  })

  it('a callback reads the results of its batch as a list', async () => {
    const petrel = await open()
    let total: number | null = null
    petrel.handle(
      'total',
      async (_, ctx) => void (total = ((await ctx.previous()) as number[]).reduce((a, b) => a + b)),
    )
    await petrel.work()
    const handle = await petrel.start(batch([job(increment, 1), job(increment, 2)], { onSuccess: job('total') }))
    await handle.result()
    expect(total).toBe(5)
  })

  it('nested workflows: a group inside a chain, a chain inside a group', async () => {
    const petrel = await open()
    await petrel.work()
    const handle = await petrel.start(
      chain(job(increment, 1), group(job(add, 10), chain(job(add, 1), job(add, 1)), job(add, 20)), job(sum)),
    )
    // 2 → [12, 2+1+1, 22] → 38
    expect(await handle.result()).toBe(38)
    expect(await petrel.instance(handle.id).result()).toBe(38)
  })

  it('the result of nested lists is nested', async () => {
    const petrel = await open()
    await petrel.work()
    const inner = group(job(increment, 1), chain(job(increment, 2), job(add, 1)))
    const handle = await petrel.start(
      group(inner, batch([job(increment, 3)], { onSuccess: job(sum) }), job(increment, 4)),
    )
    expect(await handle.result()).toEqual([[2, 4], [4], 5])
    expect(await petrel.instance(handle.id).result()).toEqual([[2, 4], [4], 5])
    const last = await petrel.start(chain(job(increment, 0), group(job(add, 1), job(add, 2))))
    expect(await last.result()).toEqual([2, 3])
  })

  it('a failure deep inside fails everything around it', async () => {
    const petrel = await open()
    await petrel.work()
    const handle = await petrel.start(
      chain(job(increment, 1), group(chain(job(add, 1), job(refuse, 'deep'))), job(sum)),
    )
    await expect(handle.result()).rejects.toMatchObject({ state: 'failed', node: '1' })
  })

  it('ten levels of nesting work, eleven are refused', async () => {
    const petrel = await open()
    await petrel.work()
    const nested = (levels: number): ReturnType<typeof chain> => {
      const innermost = chain(job(increment, 1)) as ReturnType<typeof chain>
      return Array.from({ length: levels - 1 }).reduce<ReturnType<typeof chain>>((inner) => chain([inner]), innermost)
    }
    const deepest = await petrel.start(nested(10) as never)
    expect(await deepest.result()).toBe(2)
    const refused = petrel.start(nested(11) as never)
    await expect(refused).rejects.toMatchObject({ code: 'too_deep' })
    await expect(refused).rejects.toThrow('chain.steps[0].steps[0].steps[0]')
    await expect(refused).rejects.toBeInstanceOf(PetrelError)
  })

  it('workflows of one shape share one net, whatever their arguments', async () => {
    const petrel = await open()
    const handles = await petrel.startMany([
      chain(job(increment, 1), job(add, 2)),
      chain(job(increment, 3), job(add, 4)),
    ])
    const [a, b] = await Promise.all(handles.map((handle) => handle.row()))
    expect(a?.netHash).toBe(b?.netHash)
  })

  it('a retried workflow continues where the first failed', async () => {
    const petrel = await open()
    const ran: string[] = []
    let broken = true
    petrel.handle('first', () => void ran.push('first'))
    petrel.handle('second', () => {
      ran.push('second')
      if (broken) throw new Terminal('broken')
      return 'done'
    })
    await petrel.work()
    const handle = await petrel.start<string>(chain(job('first'), job<string>('second')))
    await expect(handle.result()).rejects.toMatchObject({ node: '1' })
    broken = false
    const again = await handle.retry()
    expect(again.id).not.toBe(handle.id)
    expect(await again.result()).toBe('done')
    expect(ran).toEqual(['first', 'second', 'second'])
  })

  it('a cancelled workflow cancels pending work and notifies active work', async () => {
    const petrel = await stage.open()
    let stopped = false
    petrel.handle(
      'long',
      (_, ctx) =>
        new Promise((resolve) =>
          ctx.signal.addEventListener('abort', () => {
            stopped = true
            resolve('partly')
          }),
        ),
    )
    petrel.handle('after', () => 'never')
    const worker = await petrel.work()
    const handle = await petrel.start(chain(job('long'), job('after')))
    while (worker.load.executing === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await handle.cancel('ada')
    await expect(handle.result()).rejects.toMatchObject({ state: 'cancelled', code: 'cancelled' })
    expect(stopped).toBe(true)
  })

  it('a start with a used key returns the first workflow', async () => {
    const petrel = await open()
    await petrel.work()
    const [first, second] = await Promise.all([
      petrel.start(chain(job(increment, 1)), { idempotencyKey: 'order-1' }),
      petrel.start(chain(job(increment, 5)), { idempotencyKey: 'order-1' }),
    ])
    expect(second.id).toBe(first.id)
    expect([first.created, second.created].sort()).toEqual([false, true])
    expect(await second.result()).toBe(await first.result())
  })

  it('watch shows every event in order, and ends with the workflow', async () => {
    const petrel = await open()
    await petrel.work()
    const handle = await petrel.start(chain(job(increment, 1), job(add, 1)), { name: 'watched' })
    const events = []
    for await (const event of handle.watch()) events.push(event)
    expect(events.map((e) => e.seq)).toEqual(events.map((_, i) => i + 1))
    expect(events[0]).toMatchObject({ type: 'instance.created' })
    expect(events.at(-1)).toMatchObject({ type: 'instance.completed' })
    expect(events.filter((e) => e.type === 'succeeded').map((e) => e.node)).toEqual(['0', '1'])
    expect((await handle.row()).name).toBe('watched')
  })
})
