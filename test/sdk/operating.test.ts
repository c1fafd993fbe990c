/** What operators do through the SDK: queues, limits, schedules, dead letters, gates, context, lists. */
import { expect, it } from 'vitest'
import { chain, job } from '../../src/index.ts'
import type { Json } from '../../src/net/net.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from './stores.ts'

const ASKING = `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: release }
spec:
  steps:
    - name: ask
      approval: true
`

onBothStores('operating through the SDK', (stage) => {
  it('a paused queue hands out nothing until it is resumed', async () => {
    const petrel = await stage.open()
    petrel.handle('report', () => 'sent')
    await petrel.queues.pause('mail', { actor: 'ann' })
    await petrel.work()
    const run = await petrel.enqueue('report', null, { queue: 'mail' })
    expect(await petrel.queues.stats('mail')).toMatchObject({ name: 'mail', paused: true, available: 1, active: 0 })
    expect((await petrel.queues.list()).map(({ name }) => name)).toContain('mail')
    await petrel.queues.resume('mail')
    expect(await run.result()).toBe('sent')
    expect(await petrel.queues.stats('mail')).toMatchObject({ paused: false, succeeded: 1 })
  })

  it('a limit of a queue is listed, and a later call changes only the fields it names', async () => {
    const petrel = await stage.open()
    await petrel.limits.set({ key: 'queue:mail', maxConcurrent: 2 })
    await petrel.limits.set({ key: 'queue:mail', ratePer: 10, periodMs: 1_000 })
    expect(await petrel.limits.list()).toMatchObject([
      { key: 'queue:mail', maxConcurrent: 2, ratePer: 10, periodMs: 1_000, inUse: 0 },
    ])
    await expect(petrel.limits.set({ key: 'mail', maxConcurrent: 2 })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })

  it('a queue is reported with what waits in it and what has passed through', async () => {
    const petrel = await stage.open()
    await petrel.enqueue('later', null, { queue: 'mail' })
    const { depth, traffic, oldestDueAt } = await petrel.queues.report('mail', { minutes: 10 })
    expect(depth).toMatchObject({ available: 1, active: 0, accuracy: 'exact' })
    expect([traffic.map(({ arrived }) => arrived), oldestDueAt === null]).toEqual([[1], false])
  })

  it('a schedule starts a job or a workflow, unless it is disabled or removed', async () => {
    const petrel = await stage.open({ pollMs: 20 })
    const engine = engineOf(petrel)
    const begun: Json[] = []
    petrel.handle('report', (args: Json) => void begun.push(args))
    await petrel.work()
    await petrel.schedules.put('one', job('report', 'job'), { expression: '@every 1h' })
    await petrel.schedules.put('two', chain(job('report', 'chain')), { expression: '@every 1h' })
    await petrel.schedules.put('off', job('report', 'off'), { expression: '@every 1h', enabled: false })
    expect((await petrel.schedules.list()).map(({ name, enabled }) => [name, enabled])).toEqual([
      ['off', false],
      ['one', true],
      ['two', true],
    ])
    await engine.simulation.moveBy(3_600_000)
    await engine.simulation.sweep()
    await expect.poll(() => begun.toSorted()).toEqual(['chain', 'job'])
    expect((await petrel.schedules.get('one')).fireCount).toBe(1)
    const { id, created } = await petrel.schedules.run('one', { idempotencyKey: 'k', overlap: 'allow', by: 'ann' })
    expect(created).toBe(true)
    expect(await petrel.schedules.run('one', { idempotencyKey: 'k' })).toMatchObject({ id, created: false })
    expect((await petrel.schedules.history('one')).map(({ made, actor }) => [made, actor])).toEqual([
      ['run', 'ann'],
      ['run', null],
    ])
    const [next, after] = await petrel.schedules.next('one', { count: 2 })
    expect((after?.getTime() ?? 0) - (next?.getTime() ?? 0)).toBe(3_600_000)
    const [, ...rest] = await petrel.schedules.list({ limit: 2 })
    expect((await petrel.schedules.list({ after: rest[0] as never })).map(({ name }) => name)).toEqual(['two'])
    await expect(petrel.schedules.next('none')).rejects.toMatchObject({ code: 'not_found' })
    expect((await petrel.schedules.enable('off')).nextAt).not.toBeNull()
    expect((await petrel.schedules.disable('off')).nextAt).toBeNull()
    expect(await petrel.schedules.remove('off')).toBe(true)
    expect(await petrel.schedules.remove('off')).toBe(false)
    await expect(petrel.schedules.get('off')).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.schedules.put('bad', job('report'), { expression: 'soon' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })

  it('dead letters are listed, redriven and dismissed', async () => {
    const petrel = await stage.open()
    let declined = true
    petrel.handle('charge', () => {
      if (declined) throw new Error('declined')
      return 'paid'
    })
    await petrel.work()
    const retry = { maxAttempts: 1, deadLetter: true }
    const [first, second] = await petrel.enqueueMany([job('charge'), job('charge', null, { queue: 'other' })], {
      retry,
    })
    for (const run of [first, second]) await expect(run.result()).rejects.toThrow('declined')
    expect((await petrel.deadLetters.list()).map(({ id }) => id).toSorted()).toEqual([first.id, second.id].toSorted())
    expect((await petrel.deadLetters.list({ queue: 'other' })).map(({ id }) => id)).toEqual([second.id])
    declined = false
    expect((await petrel.deadLetters.redrive(first.id, { actor: 'ann' })).status).toBe('pending')
    expect(await first.result()).toBe('paid')
    await petrel.deadLetters.dismiss(second.id, { actor: 'ann' })
    expect(await petrel.deadLetters.list()).toEqual([])
  })

  it('gates are listed and read, and a vote advances the workflow', async () => {
    const petrel = await stage.open()
    const instance = await petrel.startText(ASKING, { file: 'release.yaml' })
    const [open] = await petrel.gates.list({ instanceId: instance.id })
    const gate = await petrel.gates.get(open?.id as string)
    expect(gate).toMatchObject({ gate: { state: 'open' }, instance: { id: instance.id } })
    expect((await instance.why()).waits).toMatchObject([{ node: 'ask' }])
    expect(await petrel.gates.approve(gate.gate.id, { answer: { by: 'ann' }, actor: 'ann' })).toBe('completed')
    expect(await petrel.gates.list({ instanceId: instance.id })).toEqual([])
    expect(await petrel.gates.list({ instanceId: instance.id, states: ['approved'] })).toHaveLength(1)
    await expect(petrel.gates.get(instance.id)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('the context of an instance is read and patched; instances and runs are listed', async () => {
    const petrel = await stage.open()
    const parked = await petrel.start(chain(job('never'), job('never')), { name: 'parked', tenant: 'acme' })
    await petrel.start(chain(job('never'), job('never')), { name: 'other' })
    await parked.patch({ note: 'fine', count: 2 }, 'ann')
    expect(await parked.context()).toEqual({ note: 'fine', count: 2 })
    await parked.patch({ count: null })
    expect(await parked.context()).toEqual({ note: 'fine' })
    expect((await petrel.instances()).map(({ name }) => name)).toEqual(['other', 'parked'])
    expect((await petrel.instances({ name: 'parked', states: ['running'] })).map(({ id }) => id)).toEqual([parked.id])
    expect((await petrel.instances({ tenant: 'acme' })).map(({ id }) => id)).toEqual([parked.id])
    const [newest, older] = await petrel.runs({ type: 'never', status: ['pending'] })
    expect((await petrel.runs({ limit: 1, before: newest?.id as string })).map(({ id }) => id)).toEqual([older?.id])
    expect((await petrel.runs({ instanceId: parked.id })).map(({ instanceId }) => instanceId)).toEqual([parked.id])
  })
})
