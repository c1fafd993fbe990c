/** Debounced starts: the last of those that follow one another starts, once, when none has followed for a while. */
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import type { DebouncedRun, DebounceParams } from '../../src/model/schedules/debounce.ts'
import type { StartDefinition } from '../../src/model/start.ts'
import { SLOT } from '../../src/net/slots.ts'
import { built, Program } from '../crash/process.ts'
import { dag, deploy, instances, metaOf, onBothStores, type Process, refusal, type Stage } from './stage.ts'

const FIRES = fileURLToPath(new URL('fires.mjs', import.meta.url))
const SECOND = 1_000

let dist: string
beforeAll(() => {
  dist = built()
}, 300_000)

/** A process with a definition, whose clock moves on request. */
async function opened(stage: Stage): Promise<Process & { pass(ms: number): Promise<void> }> {
  const process = await stage.open()
  await deploy(process, dag({ name: 'report' }))
  let offset = 0
  return {
    ...process,
    async pass(ms) {
      offset += ms
      await process.store.moveClock(offset)
      await process.engine.sweep()
    },
  }
}

const put = ({ engine }: Process, input: number, rest: Partial<DebounceParams & StartDefinition> = {}) => {
  const { key = 'k', delayMs = 10 * SECOND, maxMs = null, ...start } = rest
  const asked = {
    name: 'report',
    version: null,
    tenant: null,
    actor: 'ann',
    input: { input },
    ...start,
  } as StartDefinition
  return engine.debounceStart(asked, { key, delayMs, maxMs })
}

const putRun = ({ engine }: Process, n: number, rest: Partial<DebouncedRun> = {}) =>
  engine.debounceRun(
    { type: 'report', payload: { n }, queue: 'mail', tenant: 'a', ...rest },
    { key: 'k', delayMs: 10 * SECOND, maxMs: null },
  )

onBothStores('debounced starts', (stage) => {
  it('the last one starts when no other has followed for the delay', async () => {
    const process = await opened(stage)
    const first = await put(process, 1)
    await process.pass(6 * SECOND)
    const second = await put(process, 2)
    expect(second).toMatchObject({ id: first.id, replaced: 1, firstAt: first.firstAt })
    await process.pass(6 * SECOND)
    expect(await instances(process, 'report')).toEqual([])
    await process.pass(5 * SECOND)
    const [started, ...more] = await instances(process, 'report')
    expect([started?.id, more]).toEqual([first.id, []])
    expect(JSON.parse((await process.store.read.slot({ instanceId: first.id, key: SLOT.input.key })) ?? '')).toEqual({
      input: 2,
    })
    expect(await metaOf(process, first.id)).toMatchObject({ trigger: { kind: 'debounced' } })
    await process.pass(60 * SECOND)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('starts at the latest after the maximum, however many follow', async () => {
    const process = await opened(stage)
    const { firstAt } = await put(process, 0, { maxMs: 20 * SECOND })
    for (let i = 1; i <= 3; i++) {
      await process.pass(6 * SECOND)
      expect((await put(process, i, { maxMs: 20 * SECOND })).dueAt).toBeLessThanOrEqual(firstAt + 20 * SECOND)
    }
    await process.pass(3 * SECOND)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('a start that follows later begins another series', async () => {
    const process = await opened(stage)
    const first = await put(process, 1)
    await process.pass(11 * SECOND)
    const second = await put(process, 2)
    expect(second).toMatchObject({ replaced: 0 })
    expect(second.id).not.toBe(first.id)
    await process.pass(11 * SECOND)
    expect(await instances(process, 'report')).toHaveLength(2)
  })

  it('keys belong to a tenant and a workflow', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'other' }))
    await deploy(process, dag({ name: 'report' }), { tenant: 'a' })
    await put(process, 1)
    await put(process, 1, { name: 'other' })
    await put(process, 1, { tenant: 'a' })
    await process.pass(11 * SECOND)
    expect((await instances(process, 'report')).map(({ tenant }) => tenant).sort()).toEqual(['a', null])
    expect(await instances(process, 'other')).toHaveLength(1)
  })

  it('what cannot be started is refused at once, and nothing is kept', async () => {
    const process = await opened(stage)
    expect((await refusal(put(process, 1, { name: 'none' }))).code).toBe('not_found')
    await process.catalog.retire({ tenant: null, name: 'report', version: null, actor: null })
    expect((await refusal(put(process, 1))).code).toBe('conflict')
    expect(await process.store.sweep.dueDebounces({ limit: 10 })).toEqual([])
  })

  it('one whose definition was retired meanwhile starts when that is deployed again', async () => {
    const process = await opened(stage)
    await put(process, 1)
    await process.catalog.retire({ tenant: null, name: 'report', version: null, actor: null })
    await process.pass(11 * SECOND)
    expect(process.engine.faults.standing().get('sweep_debounced_start')).toBe(1)
    await deploy(process, dag({ name: 'report' }))
    await process.pass(3_600 * SECOND)
    // After a transaction the engine knows how late it is: the fault has rested long enough.
    await put(process, 2, { key: 'other' })
    await process.pass(SECOND)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('a run is debounced apart from definitions, and enqueued with what it was given', async () => {
    const process = await opened(stage)
    const definition = await put(process, 1)
    const first = await putRun(process, 1)
    expect(await putRun(process, 2, { tags: ['late'] })).toMatchObject({ id: first.id, replaced: 1 })
    expect(first.id).not.toBe(definition.id)
    await process.engine.cancelDebounced(definition.id)
    await process.pass(11 * SECOND)
    expect(await instances(process, 'report')).toEqual([])
    const run = await process.store.read.run(first.id)
    expect(JSON.parse(run?.payload ?? '')).toEqual({ n: 2 })
    expect(run).toMatchObject({ type: 'report', queue: 'mail', tenant: 'a', status: 'pending' })
    expect((await refusal(putRun(process, 1, { type: '' }))).code).toBe('invalid_request')
  })

  it('those that wait are listed by tenant, page by page, the newest series first', async () => {
    const process = await opened(stage)
    const ids: string[] = []
    for (const key of ['a', 'b', 'c']) ids.unshift((await put(process, 1, { key })).id)
    const run = await putRun(process, 1)
    const { debounces } = process.store.read
    const page = async (tenant: string | null, limit: number, before: string | null) =>
      (await debounces.list({ tenant, limit, before })).map((row) => row.id)
    expect(await page(null, 10, null)).toEqual([run.id, ...ids])
    expect(await page('a', 10, null)).toEqual([run.id])
    expect(await page('', 2, null)).toEqual(ids.slice(0, 2))
    expect(await page('', 2, ids[1] as string)).toEqual(ids.slice(2))
  })

  it('one can be started before it is due, and cancelled, by any number of processes, once', async () => {
    const process = await opened(stage)
    const others = await Promise.all([stage.open(), stage.open()])
    const { id } = await put(process, 1)
    const started = await Promise.allSettled([process, ...others].map(({ engine }) => engine.startDebounced(id)))
    expect(started.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect((await instances(process, 'report')).map((one) => one.id)).toEqual([id])
    expect((await refusal(process.engine.startDebounced(id))).code).toBe('not_found')
    const second = await put(process, 2)
    const ended = await Promise.allSettled([process, ...others].map(({ engine }) => engine.cancelDebounced(second.id)))
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await process.pass(60 * SECOND)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it.each(['before', 'during', 'after'])(
    'a process killed %s the commit of the enqueue: it is enqueued once',
    async (point) => {
      const process = await opened(stage)
      const { id } = await putRun(process, 1)
      await process.store.moveClock(11 * SECOND)
      const program = new Program(FIRES, { dist, url: await stage.url(), point })
      expect(await program.exit()).toBe('SIGKILL')
      if (point !== 'during') expect((await process.store.read.run(id)) === null).toBe(point === 'before')
      await process.engine.sweep()
      await process.engine.sweep()
      const runs = await process.store.read.countRuns({ queue: 'mail' })
      expect([[...runs], (await process.store.read.run(id))?.type]).toEqual([[['pending', 1]], 'report'])
      expect(await process.store.sweep.dueDebounces({ limit: 10 })).toEqual([])
    },
  )

  it('several processes at the same time make one series and one instance', async () => {
    const process = await opened(stage)
    const others = await Promise.all([stage.open(), stage.open()])
    const rows = await Promise.all([process, ...others].map((one, i) => put(one, i)))
    expect(new Set(rows.map((row) => row.id)).size).toBe(1)
    expect(rows.map(({ replaced }) => replaced).sort()).toEqual([0, 1, 2])
    await process.store.moveClock(11 * SECOND)
    await Promise.all([process, ...others].map(({ engine }) => engine.sweep()))
    await Promise.all([process, ...others].map(({ engine }) => engine.sweep()))
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it.each(['before', 'during', 'after'])(
    'a process killed %s the commit of the start: it starts once',
    async (point) => {
      const process = await opened(stage)
      const { id } = await put(process, 1)
      await process.store.moveClock(11 * SECOND)
      const program = new Program(FIRES, { dist, url: await stage.url(), point })
      expect(await program.exit()).toBe('SIGKILL')
      if (point !== 'during') expect(await instances(process, 'report')).toHaveLength(point === 'before' ? 0 : 1)
      await process.engine.sweep()
      await process.engine.sweep()
      expect((await instances(process, 'report')).map((one) => one.id)).toEqual([id])
      expect(await process.store.sweep.dueDebounces({ limit: 10 })).toEqual([])
    },
  )
})
