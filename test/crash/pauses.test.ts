/** A process is killed while it parks or releases what waits in a paused instance; the sweeper of another continues. */
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PARKED_AT } from '../../src/model/rows.ts'
import { net, node, ONCE, run } from '../engine/drive.ts'
import { SHARED } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'
import { built, Program } from './process.ts'

const file = fileURLToPath(new URL('pause-engine.mjs', import.meta.url))
const COUNT = 2_500
const HOUR = 3_600_000
const POINTS = [
  { point: 'after-commit', at: 1 },
  { point: 'before-pause-portion', at: 2 },
  { point: 'after-pause-portion', at: 1 },
  { point: 'after-pause-portion', at: 2 },
]

const list = net([
  node('l', [], {
    retry: ONCE,
    work: {
      kind: 'each',
      items: `range(${COUNT}) | list`,
      body: run('item', { delayMs: HOUR }),
      maxInFlight: COUNT,
      failFast: false,
      collect: 'list',
    },
  }),
])

describe.each(SHARED)('killed with SIGKILL during a pause on $name', (place) => {
  let dist = ''
  let s: Stage
  let program: Program | null = null
  beforeAll(() => {
    dist = built()
  }, 120_000)
  beforeEach(async () => {
    s = await Stage.open(place, { pollMs: 600_000 })
  })
  afterEach(async () => {
    await program?.kill()
    program = null
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  }, 120_000)

  /** Begins in a process that is killed at the point. */
  async function killed(verb: 'pause' | 'resume', id: string, arm: object): Promise<void> {
    program = new Program(file, { dist, url: s.url, arm, verb, id })
    await program.line('stopped')
    expect(await program.kill()).toBe('SIGKILL')
  }

  const dueTimes = async (id: string): Promise<readonly number[]> => {
    const times: number[] = []
    for (let after: string | null = null; ; ) {
      const page = await s.d.store.read.instanceRuns({ instanceId: id, limit: 1000, after })
      times.push(...page.map(({ runAt }) => runAt))
      if (page.length < 1000) return times
      after = page.at(-1)?.id ?? null
    }
  }

  it.each(POINTS)(
    '$point, pass $at: everything is parked once, and released once',
    { timeout: 60_000 },
    async (arm) => {
      const id = await s.d.start({ net: list })
      // Such a list is more than one transaction begins.
      while ((await s.d.store.read.instance(id))?.more === true) await s.d.engine.sweep()
      const before = await dueTimes(id)
      expect(before).toHaveLength(COUNT)
      await killed('pause', id, arm)
      await s.d.engine.sweep()
      expect(new Set(await dueTimes(id))).toEqual(new Set([PARKED_AT]))
      expect(await s.d.store.pauses.get({ kind: 'instance', key: id })).toMatchObject({ state: 'paused' })
      await s.d.pass(10 * HOUR)
      await killed('resume', id, arm)
      await s.d.engine.sweep()
      const after = await dueTimes(id)
      const shift = (after[0] as number) - (before[0] as number)
      expect(shift).toBeGreaterThan(9 * HOUR)
      expect(after).toEqual(before.map((at) => at + shift))
      expect(await s.d.store.pauses.get({ kind: 'instance', key: id })).toBeNull()
      const types = (await s.d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 10_000 })).map(
        (e) => e.type,
      )
      expect(types.filter((type) => type.includes('pause'))).toEqual(['instance.paused', 'instance.unpaused'])
      await s.d.engine.cancelInstance({ id, actor: null })
      await s.d.engine.sweep()
    },
  )
})
