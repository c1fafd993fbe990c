/** A process that dies while a schedule fires leaves both the work and its entry in the history, or neither. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { type FireRow, type ScheduleRef, scheduleKey } from '../../src/model/schedules/fires.ts'
import { built, Program } from '../crash/process.ts'
import { dag, deploy, onBothStores, type Process, type Stage } from './stage.ts'

const FIRES = fileURLToPath(new URL('fires.mjs', import.meta.url))
const HOUR = 3_600_000
const REQUEST = { requestKey: 'k', overlap: null, actor: 'ann' } as const

let dist: string
beforeAll(() => {
  dist = built()
}, 300_000)

interface Scene {
  readonly process: Process
  readonly ref: ScheduleRef
}

/** Schedules that are due each hour. */
const KINDS: Readonly<Record<string, (process: Process) => Promise<ScheduleRef>>> = {
  'a schedule of runs': async ({ engine }) => {
    await engine.putSchedule({ name: 'tick', expression: '@every 1h', run: { type: 'tick', payload: null } })
    return { table: 'cron', name: 'tick' }
  },
  'the trigger of a definition': async (process) => {
    await deploy(process, dag({ name: 'report', trigger: "{ schedule: '0 * * * *' }" }))
    return { table: 'cron', name: 'workflow:report' }
  },
  'a schedule of the inbox': async ({ engine }) => {
    const { id } = await engine.inboxSchedules.add({ type: 'tick.v1', schedule: '0 * * * *' })
    return { table: 'inbox', id }
  },
}

async function made({ process }: Scene): Promise<number> {
  const { read } = process.store
  const instances = [...(await read.countInstances()).values()].reduce((a, b) => a + b, 0)
  const runs = await read.listRuns({
    status: null,
    queue: null,
    type: null,
    deadLetter: null,
    tenant: null,
    limit: 100,
    before: null,
  })
  return instances + runs.filter(({ instanceId }) => instanceId === null).length
}

function fires({ process, ref }: Scene): Promise<readonly FireRow[]> {
  return process.store.read.timetable.fires({ schedule: scheduleKey(ref), before: null, limit: 100 })
}

async function killed(stage: Stage, point: string, run?: object): Promise<void> {
  const program = new Program(FIRES, { dist, url: await stage.url(), point, run })
  expect(await program.exit()).toBe('SIGKILL')
}

/** A transaction that was on its way when its process died may still commit now; what counts is what the others make of it. */
async function expectLeft(scene: Scene, point: string): Promise<void> {
  if (point === 'during') return
  const left = point === 'before' ? 0 : 1
  expect([await made(scene), (await fires(scene)).length]).toEqual([left, left])
}

onBothStores('a process killed while a schedule fires', (stage) => {
  describe.each(Object.keys(KINDS))('%s', (kind) => {
    const opened = async (): Promise<Scene> => {
      const process = await stage.open()
      return { process, ref: await (KINDS[kind] as (typeof KINDS)[string])(process) }
    }

    it.each(['before', 'during', 'after'])(
      '%s the commit: all or nothing, and the next sweep completes it once',
      async (point) => {
        const scene = await opened()
        await scene.process.store.moveClock(HOUR + 1000)
        await killed(stage, point)
        await expectLeft(scene, point)
        await scene.process.engine.sweep()
        await scene.process.engine.sweep()
        expect([await made(scene), (await fires(scene)).length]).toEqual([1, 1])
      },
    )

    it.each(['before', 'during', 'after'])(
      '%s the commit of a run on request: the request sent again makes one',
      async (point) => {
        const scene = await opened()
        await killed(stage, point, { ref: scene.ref, request: REQUEST })
        await expectLeft(scene, point)
        const fired = await scene.process.engine.runSchedule(scene.ref, REQUEST)
        if (point !== 'during') expect(fired.created).toBe(point === 'before')
        expect([await made(scene), (await fires(scene)).map(({ actor, madeId }) => [actor, madeId])]).toEqual([
          1,
          [['ann', fired.id]],
        ])
      },
    )
  })
})
