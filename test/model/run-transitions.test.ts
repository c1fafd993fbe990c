/**
 * The life cycle of a run is implemented by the engine, by the triggers of Postgres and by those of SQLite. Each of
 * them performs every transition of the table that its party may make, and refuses all others.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunRow, RunStatus } from '../../src/model/rows.ts'
import {
  RUN_GUARDS,
  RUN_TRANSITIONS,
  type RunGuard,
  type RunTransition,
  transitionOf,
} from '../../src/model/run-transitions.ts'
import { SHARED } from '../inbox/foreign.ts'
import { BY_THE_ENGINE } from './engine-transitions.ts'
import { attempts, operations, STANDINGS, type Standing } from './refusals.ts'
import { Scene } from './scene.ts'
import { BY_PLAIN_SQL } from './sql-transitions.ts'

const STATUSES: readonly RunStatus[] = ['pending', 'leased', 'succeeded', 'failed', 'cancelled']

const nameOf = ({ from, happening, guard }: RunTransition): string => `${from} ${happening} ${guard}`

function rowsOf(party: 'engine' | 'sql'): readonly RunTransition[] {
  return RUN_TRANSITIONS.filter(({ by }) => by.includes(party))
}

/** Whether a party may take a run from one status to the other, in one step or more. */
function mayReach(party: 'engine' | 'sql', from: RunStatus, to: RunStatus): boolean {
  return rowsOf(party).some((row) => row.from === from && row.to === to)
}

describe('the table of run transitions', () => {
  it('decides each case once', () => {
    const names = RUN_TRANSITIONS.map(nameOf)
    expect(names).toEqual([...new Set(names)])
  })

  it('is used by the engine, which is refused every transition that is not its own', () => {
    const known = new Map(rowsOf('engine').map((row) => [nameOf(row), row]))
    const happenings = [...new Set(RUN_TRANSITIONS.map((row) => row.happening))]
    for (const from of [null, ...STATUSES]) {
      for (const happening of happenings) {
        for (const guard of [null, ...(Object.keys(RUN_GUARDS) as RunGuard[])]) {
          const row = known.get(`${from} ${happening} ${guard}`)
          if (row !== undefined) expect(transitionOf(from, happening, guard)).toEqual(row)
          else expect(() => transitionOf(from, happening, guard)).toThrow(`no transition '${happening}'`)
        }
      }
    }
  })

  it('has an implementation for every row of each party, and no others', () => {
    expect(Object.keys(BY_THE_ENGINE).toSorted()).toEqual(rowsOf('engine').map(nameOf).toSorted())
    expect(Object.keys(BY_PLAIN_SQL).toSorted()).toEqual(rowsOf('sql').map(nameOf).toSorted())
  })
})

describe.each(SHARED)('run transitions on $name', (place) => {
  let scene: Scene
  beforeEach(async () => {
    scene = await Scene.open(place)
  })
  afterEach(async () => scene.close())

  /** A step is created and ends in one transaction: it was pending only within it. */
  async function expectTransition(row: RunTransition, id: string): Promise<void> {
    const { from, to, events } = await scene.seen(id)
    const within = from === null && row.from === 'pending' && events[0] === 'created'
    expect({ from: within ? 'pending' : from, to }).toEqual({ from: row.from, to: row.to })
    expect(events).toContain(row.event)
  }

  describe('the engine', () => {
    it.each(rowsOf('engine').map((row) => ({ name: `${nameOf(row)} → ${row.to}`, row })))('$name', async ({ row }) => {
      const perform = BY_THE_ENGINE[nameOf(row)]
      await expectTransition(row, (await perform?.(scene)) ?? '')
      expect(await scene.d.doctor()).toEqual([])
    })

    it.each(Object.keys(STANDINGS) as Standing[])('makes no other transition of a run that is %s', async (standing) => {
      for (const [name, operate] of Object.entries(operations)) {
        const id = await STANDINGS[standing](scene)
        const before = await scene.s.run(id)
        await operate(scene, before).catch(() => {})
        const after = await scene.s.run(id)
        const pair = `${before.status} → ${after.status}`
        if (after.status === before.status) continue
        expect(mayReach('engine', before.status, after.status), `${name}: ${pair}`).toBe(true)
      }
    })
  })

  describe('plain SQL', () => {
    const performances = rowsOf('sql').flatMap((row) =>
      Object.entries(BY_PLAIN_SQL[nameOf(row)] ?? {}).map(([how, perform]) => {
        return { name: `${nameOf(row)} → ${row.to}: ${how}`, row, perform }
      }),
    )

    it.each(performances)('$name', async ({ row, perform }) => {
      await expectTransition(row, await perform(scene))
      await scene.d.engine.sweep()
      expect(await scene.d.doctor()).toEqual([])
    })

    it.each(Object.keys(STANDINGS) as Standing[])('makes no other transition of a run that is %s', async (standing) => {
      for (const to of STATUSES) {
        for (const [name, statement] of Object.entries(attempts(scene, to))) {
          const id = await STANDINGS[standing](scene)
          const before = await picture(id)
          await scene.sql.sql(`UPDATE workflow_run SET ${statement} WHERE id = '${id}'`).catch(() => {})
          const after = await picture(id)
          const [was, is] = [before.row.status, after.row.status]
          if (is !== was) expect(mayReach('sql', was, is), `${name}: ${was} → ${is}`).toBe(true)
          // A refused write changes nothing. A claim of a run with a current lease changes nothing either.
          if (!mayReach('sql', was, to)) expect(after, `${name}: ${was} → ${to}`).toEqual(before)
        }
      }
    })

    it('never creates a run in another status, and never deletes one that has not ended', async () => {
      for (const status of STATUSES.filter((status) => status !== 'pending')) {
        const insert = `INSERT INTO workflow_run (type, payload, status) VALUES ('x.v1', '{}', '${status}')`
        await expect(scene.sql.sql(insert)).rejects.toThrow('status')
      }
      for (const standing of ['pending', 'held by a session', 'held by plain SQL'] as const) {
        const id = await STANDINGS[standing](scene)
        await expect(scene.sql.sql(`DELETE FROM workflow_run WHERE id = '${id}'`)).rejects.toThrow()
        expect(await scene.s.run(id)).not.toBeNull()
      }
    })
  })

  async function picture(id: string): Promise<{ readonly row: RunRow; readonly history: readonly string[] }> {
    return { row: await scene.s.run(id), history: await scene.s.history(id) }
  }
})
