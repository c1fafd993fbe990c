/** Debounced starts: the last of those that follow one another starts, once, when none has followed for a while. */
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import type { DebounceParams } from '../../src/model/schedules/debounce.ts'
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

onBothStores('debounced starts', (stage) => {
  it('the last one starts when no other has followed for the delay', async () => {
    const process = await opened(stage)
    const first = await put(process, 1)
    await process.pass(6 * SECOND)
    const second = await put(process, 2)
    expect(second).toMatchObject({ instanceId: first.instanceId, replaced: 1, firstAt: first.firstAt })
    await process.pass(6 * SECOND)
    expect(await instances(process, 'report')).toEqual([])
    await process.pass(5 * SECOND)
    const [started, ...more] = await instances(process, 'report')
    expect([started?.id, more]).toEqual([first.instanceId, []])
    expect(
      JSON.parse((await process.store.read.slot({ instanceId: first.instanceId, key: SLOT.input.key })) ?? ''),
    ).toEqual({
      input: 2,
    })
    expect(await metaOf(process, first.instanceId)).toMatchObject({ trigger: { kind: 'debounced' } })
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
    expect(second.instanceId).not.toBe(first.instanceId)
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

  it('several processes at the same time make one series and one instance', async () => {
    const process = await opened(stage)
    const others = await Promise.all([stage.open(), stage.open()])
    const rows = await Promise.all([process, ...others].map((one, i) => put(one, i)))
    expect(new Set(rows.map(({ instanceId }) => instanceId)).size).toBe(1)
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
      const { instanceId } = await put(process, 1)
      await process.store.moveClock(11 * SECOND)
      const program = new Program(FIRES, { dist, url: await stage.url(), point })
      expect(await program.exit()).toBe('SIGKILL')
      if (point !== 'during') expect(await instances(process, 'report')).toHaveLength(point === 'before' ? 0 : 1)
      await process.engine.sweep()
      await process.engine.sweep()
      expect((await instances(process, 'report')).map(({ id }) => id)).toEqual([instanceId])
      expect(await process.store.sweep.dueDebounces({ limit: 10 })).toEqual([])
    },
  )
})
