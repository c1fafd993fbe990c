/** The engine is killed between the end of a run by plain SQL and the settle of that end. */
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { built, Program } from '../../crash/process.ts'
import type { Drive } from '../../engine/drive.ts'
import { batch, job, workflow } from '../../engine/specifications/stage.ts'
import { type Foreign, SHARED } from '../foreign.ts'
import { eventually, Stage } from '../stage.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 30 : 2
const timeout = full ? 1_800_000 : 120_000
const JOBS = 6
const file = fileURLToPath(new URL('engine.mjs', import.meta.url))

const POINTS = [
  { point: 'in-sweeper', name: 'when it has found the run' },
  { point: 'before-commit', name: 'before it commits' },
  { point: 'after-commit', name: 'after its commit, before any notification' },
]

describe.each(SHARED)('killed while plain SQL ends runs on $name', (place) => {
  let dist = ''
  let s: Stage
  let d: Drive
  let go: Foreign
  let engine: Program | null = null
  beforeAll(() => {
    dist = built()
  }, 120_000)
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    await engine?.kill()
    engine = null
    expect(await d.doctor()).toEqual([])
    await s.close()
  }, 120_000)

  const start = async (arm: object | null): Promise<Program> => {
    engine = new Program(file, { dist, url: s.url, arm })
    await engine.line('ready')
    return engine
  }

  for (const { point, name } of POINTS) {
    it(`${name}: the next engine continues, and nothing happens twice`, { timeout }, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const id = await workflow(d, batch(Array.from({ length: JOBS }, (_, i) => job('part.v1', i))))
        let kills = 0
        let killed: Promise<unknown> = Promise.resolve()
        const armed = await start({ point, at: 1 + Math.floor(Math.random() * 3) })
        armed.onLine = (line) => {
          if (!('stopped' in line)) return
          kills++
          killed = armed.kill().then((signal) => {
            expect(signal).toBe('SIGKILL')
            return start(null)
          })
        }
        for (let i = 0; i < JOBS; i++) {
          const run = await go.claimed('go-1', 'part.%')
          await go.succeed(run.id, run.payload)
          await eventually(async () => (await s.run(run.id)).settledAt !== null, 'it is settled, by whichever engine')
          await killed
        }
        const called: string[] = []
        await eventually(async () => {
          called.push(...(await go.work('go-1', 'on.%')))
          return (await d.state(id)) === 'completed'
        }, 'the batch ends')
        expect(called.sort()).toEqual(['on.complete', 'on.success'])
        const { runs } = (await d.engine.view(id)) as NonNullable<Awaited<ReturnType<typeof d.engine.view>>>
        for (const history of (await d.store.read.histories({ runIds: runs.map((run) => run.id) })).values()) {
          expect(history.map((event) => event.type)).toEqual(['created', 'leased', 'started', 'succeeded'])
        }
        expect((await d.results(id)).jobs).toEqual(Object.fromEntries(Array.from({ length: JOBS }, (_, i) => [i, i])))
        expect(kills).toBe(1)
        await engine?.kill()
      }
    })
  }

  it('while no engine runs, every end waits in the table for the next one', { timeout }, async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => workflow(d, batch([job('part.v1', i)]))))
    expect(await go.work('go-1', 'part.%')).toHaveLength(20)
    await start(null)
    await eventually(async () => (await d.store.sweep.unsettledRuns({ limit: 1 })).length === 0, 'all are settled')
    const called: string[] = []
    await eventually(async () => {
      called.push(...(await go.work('go-1', 'on.%')))
      return called.length === 40
    }, 'all callbacks')
    await eventually(
      async () => (await Promise.all(ids.map((id) => d.state(id)))).every((x) => x === 'completed'),
      'ends',
    )
  })
})
