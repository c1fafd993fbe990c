/**
 * Processes that roll back DAG workflows are killed with SIGKILL at the moments that matter to a rollback; the next
 * process finishes it. Every undo takes effect at least once and is recorded exactly once, in reverse order of
 * completion, and every instance ends once.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresUrl } from '../services.ts'
import { EXPECTED_ENDS, EXPECTED_UNDOS } from './dag-workloads.mjs'
import { type StoreKind, TestDatabase } from './database.ts'
import { built, type Program } from './process.ts'
import { Rounds } from './rounds.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 50 : 2
const timeout = full ? 1_800_000 : 120_000

/** The point, and the last of its passings at which a process may be killed: a wave has no more. */
const POINTS = [
  { point: 'after-commit of a failure', name: "after the failing outcome's commit", passings: 3 },
  { point: 'after-commit of an undo', name: 'between two undos', passings: 3 },
  { point: 'in an undo', name: 'while an undo runs', passings: 6 },
  { point: 'before-commit of an undo', name: 'after an undo took effect, before it is recorded', passings: 3 },
  { point: 'after-commit of the last undo', name: 'after the last undo', passings: 3 },
] as const

export function dagCrashSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`a rollback killed with SIGKILL (${kind})`, () => {
    let dist = ''
    let database: TestDatabase
    let running: Program | null = null

    beforeAll(() => {
      dist = built()
    }, 120_000)

    afterEach(async () => {
      await running?.kill()
      running = null
      await database.drop()
    }, 120_000)

    for (const { point, name, passings } of POINTS) {
      it(`${name}: ${ROUNDS} rounds`, { timeout }, async () => {
        database = await TestDatabase.create(kind)
        const settings = { dist, swept: false, workloads: 'dag-workloads.mjs' }
        const rounds = new Rounds(database, settings, { ends: EXPECTED_ENDS, roles: EXPECTED_UNDOS })
        for (let round = 1; round <= ROUNDS; round++) {
          const arm = { point, at: 1 + Math.floor(Math.random() * passings) }
          running = rounds.begin({ next: `r${round}`, arm })
          await rounds.recovered(running)
          expect(await running.line('stopped')).toEqual({ stopped: point })
          await rounds.killed(running)
        }
        await rounds.verify(point, (program) => (running = program))
        await expectUndone(database)
      })
    }
  })
}

/** Read by plain SQL: for every instance that was rolled back, what completed, what was undone, and how it ended. */
async function expectUndone(database: TestDatabase): Promise<void> {
  const ended = await database.rows<{ id: string; state: string; ends: number; begins: number }>(`
    SELECT i.id, i.state,
      sum(CASE WHEN e.event_type = 'instance.compensated' THEN 1 ELSE 0 END) AS ends,
      sum(CASE WHEN e.event_type = 'instance.compensating' THEN 1 ELSE 0 END) AS begins
    FROM workflow.workflow_instance i JOIN workflow.workflow_event e ON e.instance_id = i.id
    GROUP BY i.id, i.state`)
  for (const { id, state, ends, begins } of ended) {
    const times = state === 'compensated' ? 1 : 0
    expect([id, state, Number(ends), Number(begins)]).toEqual([id, state, times, times])
  }
  const undoable = `r.node NOT IN ('pay', 'send-welcome')`
  const runs = await database.rows<{ instance_id: string; role: string; node: string; status: string; seq: number }>(`
    SELECT r.instance_id, r.role, r.node, r.status, r.done_seq AS seq
    FROM workflow.workflow_run r JOIN workflow.workflow_instance i ON i.id = r.instance_id
    WHERE i.state = 'compensated' AND r.status = 'succeeded' AND ${undoable} ORDER BY r.instance_id, r.done_seq`)
  const effects = await database.effects()
  expect(new Set(effects.map((effect) => effect.pid)).size).toBeGreaterThan(1)
  for (const id of new Set(runs.map((run) => run.instance_id))) {
    const nodes = (role: string): string[] =>
      runs.filter((run) => run.instance_id === id && run.role === role).map((run) => run.node)
    expect([id, ...nodes('undo')]).toEqual([id, ...nodes('work').reverse()])
  }
}
