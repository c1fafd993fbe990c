import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { built, Program } from '../crash/process.ts'
import { dag, deploy, instances, onBothStores, publish, type Stage } from './stage.ts'

const LISTENER = fileURLToPath(new URL('listener.mjs', import.meta.url))
const LISTENS = '{ event: order.created }'
const EVENT = { type: 'order.created', payload: { order: 7 }, id: 'e1', tenant: null, actor: null }

let dist: string
beforeAll(() => {
  dist = built()
}, 300_000)

/** Another process handles the event and is killed on the way. */
async function killed(stage: Stage, point: string, time: number): Promise<void> {
  const program = new Program(LISTENER, { dist, url: await stage.url(), event: EVENT, at: { point, time } })
  expect(await program.exit()).toBe('SIGKILL')
}

onBothStores('a process killed while it handles an event', (stage) => {
  it('after the first of several starts: the event sent again starts the others, and none twice', async () => {
    const process = await stage.open()
    for (const name of ['one', 'three', 'two']) await deploy(process, dag({ name, trigger: LISTENS }))
    await killed(stage, 'definition-found', 2)
    expect((await instances(process, 'one')).length).toBe(1)
    expect((await instances(process, 'three')).length).toBe(0)
    const { started } = await publish(process, 'order.created', EVENT)
    expect(started.map((s) => [s.name, s.created])).toEqual([
      ['one', false],
      ['three', true],
      ['two', true],
    ])
    for (const name of ['one', 'three', 'two']) expect(await instances(process, name)).toHaveLength(1)
    const again = await publish(process, 'order.created', EVENT)
    expect(again.started.map((s) => s.created)).toEqual([false, false, false])
  }, 60_000)

  it('between two batches of idle instances: the event sent again starts the remaining ones, and no new one', async () => {
    const process = await stage.open()
    const { row } = await deploy(process, dag({ name: 'ship', trigger: LISTENS }))
    const net = JSON.parse((await process.store.read.net(row.netHash))?.net ?? '')
    await process.engine.start(Array.from({ length: 450 }, () => ({ net, start: false })))
    await killed(stage, 'trigger-started', 1)
    expect(await process.store.read.countInstances()).toEqual(
      new Map([
        ['idle', 250],
        ['running', 200],
      ]),
    )
    expect((await publish(process, 'order.created', EVENT)).started).toHaveLength(250)
    expect((await publish(process, 'order.created', EVENT)).started).toMatchObject([{ created: false }])
    expect(await process.store.read.countInstances()).toEqual(new Map([['running', 450]]))
  }, 60_000)

  it('after all starts, before the reply: the event sent again starts nothing', async () => {
    const process = await stage.open()
    const { row } = await deploy(process, dag({ name: 'ship', trigger: LISTENS }))
    const net = JSON.parse((await process.store.read.net(row.netHash))?.net ?? '')
    await process.engine.start([{ net, start: false }])
    await killed(stage, 'trigger-started', 1)
    expect((await publish(process, 'order.created', EVENT)).started).toMatchObject([{ created: false }])
    expect(await instances(process, 'ship')).toHaveLength(1)
  }, 60_000)
})
