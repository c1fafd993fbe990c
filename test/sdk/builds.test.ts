/** The build that a worker states. */
import { afterEach, expect, it } from 'vitest'
import { engineOf } from '../../src/client/engine-of.ts'
import { onBothStores } from './stores.ts'

afterEach(() => {
  delete process.env['PETREL_WORKER_BUILD']
})

onBothStores('the build of a worker', (stage) => {
  const outcomes = async (build: string | null | undefined) => {
    const petrel = await stage.open()
    petrel.handle('pay', () => {
      throw new Error('declined')
    })
    petrel.handle('ship', () => 'shipped')
    const worker = await petrel.work(build === undefined ? {} : { build })
    const runs = [await petrel.enqueue('pay', null, { retry: { maxAttempts: 1 } }), await petrel.enqueue('ship')]
    await Promise.allSettled(runs.map((run) => run.result()))
    const engine = engineOf(petrel)
    const ends = await Promise.all(
      runs.map(async ({ id }) => JSON.parse((await engine.queries.runHistory(id)).at(-1)?.data ?? '{}')?.build ?? null),
    )
    const [group] = (await petrel.errors.list()).rows
    const [row] = await engine.queries.workers()
    await worker.stop()
    return { worker: row?.build, ends, groups: group?.builds }
  }

  it('is shown with the worker, in the history, and with the group of a failure', async () => {
    expect(await outcomes('1.4.2')).toEqual({ worker: '1.4.2', ends: ['1.4.2', '1.4.2'], groups: ['1.4.2'] })
  })

  it('is that of the environment if the program states none', async () => {
    process.env['PETREL_WORKER_BUILD'] = 'abc123'
    expect(await outcomes(undefined)).toEqual({ worker: 'abc123', ends: ['abc123', 'abc123'], groups: ['abc123'] })
  })

  it('without one, nothing is recorded', async () => {
    process.env['PETREL_WORKER_BUILD'] = 'abc123'
    expect(await outcomes(null)).toEqual({ worker: null, ends: [null, null], groups: [] })
  })

  it('has one line of at most 200 characters', async () => {
    const petrel = await stage.open()
    for (const build of ['x'.repeat(201), 'a\nb']) {
      await expect(petrel.work({ build })).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })
})
