/** Settles against cancels, deadlines, ends of nested workflows and plain SQL writes, from three processes. */
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { audit } from '../crash/audit.ts'
import { type StoreKind, TestDatabase } from '../crash/database.ts'
import { built, Program } from '../crash/process.ts'
import { postgresUrl } from '../services.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const SECONDS = full ? 60 : 8
const timeout = SECONDS * 1000 + 90_000
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

interface Calmed {
  readonly counts: { readonly [what: string]: number }
  readonly errors?: readonly string[]
}

export function contentionSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`contention (${kind})`, () => {
    let dist = ''
    let database: TestDatabase
    let processes: Program[] = []

    beforeAll(() => {
      dist = built()
    }, 120_000)

    afterEach(async () => {
      await Promise.all(processes.map((p) => p.kill()))
      await database.drop()
    }, 120_000)

    it(`for ${SECONDS} s: no deadlock reaches a caller, and no instance is stuck`, { timeout }, async () => {
      database = await TestDatabase.create(kind)
      const settings = { dist, url: database.url }
      const workers = [
        new Program(program('contention-process.mjs'), settings),
        new Program(program('contention-process.mjs'), settings),
      ]
      const writer = new Program(program('writer.mjs'), settings)
      processes = [...workers, writer]
      await Promise.all(processes.map((p) => p.line('ready')))
      await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000))

      for (const p of processes) p.tell({ calm: true })
      const calmed = await Promise.all(processes.map((p) => p.line<Calmed>('calmed')))
      const stuck = await endOf(database)
      for (const worker of workers) worker.tell({ exit: true })
      for (const p of processes) expect(await p.exit()).toBe('code 0')

      const { violations, counts } = await audit(database, { effects: false })
      const states = await database.rows<{ state: string; n: number }>(
        'SELECT state, count(*) AS n FROM workflow.workflow_instance GROUP BY state ORDER BY state',
      )
      const ends = states.map(({ state, n }) => `${n} ${state}`).join(', ')
      console.log(`${kind}, ${SECONDS} s:`, JSON.stringify(calmed.map((c) => c.counts)), JSON.stringify(counts), ends)
      expect(calmed.flatMap((c) => c.errors ?? [])).toEqual([])
      expect(stuck).toEqual([])
      expect(violations).toEqual([])
    })
  })
}

/** Waits until every instance has ended; instances that have not after some time are stuck. */
async function endOf(database: TestDatabase): Promise<readonly string[]> {
  const open = `
    SELECT 'instance' AS what, id, name, state, phase AS more FROM workflow.workflow_instance WHERE ended_at IS NULL
    UNION ALL SELECT 'run', id, type, status, session_id FROM workflow.workflow_run WHERE settled_at IS NULL`
  for (const giveUpAt = performance.now() + 30_000; ; ) {
    const left = (await database.rows<object>(open)).map((row) => Object.values(row).join(' '))
    if (left.length === 0 || performance.now() > giveUpAt) return left
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
