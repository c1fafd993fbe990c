/** Logs of executions on both stores. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { logLine } from '../../src/kernel/log-lines.ts'
import { EXECUTION_LOG_BYTES, RUN_LOG_BYTES } from '../../src/model/logs.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { type Drive, net, node, ONCE, PLACES } from './drive.ts'
import { open } from './specifications/stage.ts'

const TWICE = { ...ONCE, maxAttempts: 2 }
const line = (text: string) => logLine({ at: 1, level: 'info', text })

describe.each(PLACES)('logs on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(() => d.close())

  const log = ({ runId, epoch }: Delivery, first: number, ...texts: readonly string[]) =>
    d.session.log([{ runId, epoch, first, lines: texts.map(line) }])
  const read = (
    of: { runId: string } | { instanceId: string },
    more: { attempt?: number; after?: number; limit?: number } = {},
  ) => d.store.logs.read({ of, attempt: more.attempt ?? null, after: more.after ?? 0, limit: more.limit ?? 100 })
  const texts = async (...asked: Parameters<typeof read>) =>
    (await read(...asked)).flatMap(({ lines }) => lines.map(({ m }) => m))

  it('are stored by run and execution, and read in their order', async () => {
    const id = await d.start({ net: net([node('a', ['b'], { retry: TWICE }), node('b')]) })
    const first = await d.claimOne()
    await log(first, 0, 'one', 'two')
    await d.fail(first)
    const second = await d.claimOne()
    await log(second, 0, 'three')
    await d.succeed(second)
    const other = await d.claimOne()
    await log(other, 0, 'four')
    const { runId } = first
    expect(await texts({ runId })).toEqual(['one', 'two', 'three'])
    expect(await texts({ runId }, { attempt: 2 })).toEqual(['three'])
    expect(await texts({ instanceId: id })).toEqual(['one', 'two', 'three', 'four'])
    const [part] = await read({ runId }, { limit: 1 })
    expect(part).toMatchObject({ runId, node: 'a', item: -1, attempt: 1, first: 0 })
    expect(await texts({ runId }, { after: part?.id as number })).toEqual(['three'])
  })

  it('lines under a lease that has ended are dropped; lines that are sent again are stored once', async () => {
    await d.start({ net: net([node('a', [], { retry: TWICE })]) })
    const first = await d.claimOne()
    await log(first, 0, 'one')
    await d.fail(first)
    await log(first, 1, 'late')
    const second = await d.claimOne()
    await log(first, 1, 'later')
    await log(second, 0, 'two')
    if (place.name === 'postgres') await log(second, 0, 'two')
    expect(await texts({ runId: first.runId })).toEqual(['one', 'two'])
  })

  it('an execution keeps its first part and its newest lines; a run keeps a bounded length', async () => {
    await d.start({ net: net([node('a', [], { retry: { ...ONCE, maxAttempts: 10 } })]) })
    let runId = ''
    for (let attempt = 1; attempt <= 6; attempt++) {
      const held = await d.claimOne()
      runId = held.runId
      for (let i = 0; i < 15; i++)
        await log(held, i * 4, ...[0, 1, 2, 3].map((n) => `${attempt}.${i * 4 + n} ${'x'.repeat(8_000)}`))
      const parts = await read({ runId }, { attempt })
      const bytes = parts.reduce((sum, { lines }) => sum + JSON.stringify(lines).length, 0)
      expect(bytes).toBeLessThanOrEqual(EXECUTION_LOG_BYTES + 40_000)
      expect(parts.at(0)?.first).toBe(0)
      expect(parts.at(-1)?.first).toBe(56)
      expect(parts.length).toBeLessThan(12)
      await d.fail(held)
    }
    const all = await read({ runId })
    expect(all.reduce((sum, { lines }) => sum + JSON.stringify(lines).length, 0)).toBeLessThanOrEqual(RUN_LOG_BYTES)
    expect(all.at(-1)?.attempt).toBe(6)
  })

  it('a worker without a number continues after the last line', async () => {
    await d.start({ net: net([node('a')]) })
    const { runId, epoch } = await d.claimOne()
    const write = (holder: string | null, ...texts: string[]) =>
      d.store.logs.append([{ runId, epoch, holder, first: null, lines: texts.map(line) }])
    expect(await write(null, 'one', 'two')).toBe(1)
    expect(await write('driver', 'three')).toBe(1)
    expect(await write('another', 'four')).toBe(0)
    expect((await read({ runId })).map(({ first }) => first)).toEqual([0, 2])
  })

  it('are removed with their run', async () => {
    const id = await d.start({ net: net([node('a')]) })
    const held = await d.claimOne()
    await log(held, 0, 'one')
    await d.succeed(held)
    expect(await texts({ runId: held.runId })).toEqual(['one'])
    for (let left = 1; left > 0; ) {
      left = await d.store.sweep.prune({ endedBefore: Date.now() + 1e9, eventsBefore: 0, limit: 1_000 })
    }
    expect([await d.store.read.instance(id), await texts({ runId: held.runId })]).toEqual([null, []])
  })
})
