/** Every slot that a workflow of any notation writes, from start to end, is of a declared kind. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { siblingDefinitions } from '../../src/client/sibling-definitions.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { type Database, openDatabase } from '../../src/store/sqlite/driver.ts'
import { kindsOf } from '../net/slot-kinds.ts'
import { Drive } from './drive.ts'

const EXAMPLES = new URL('../../examples/', import.meta.url).pathname

/** The files of each notation, and kinds that at least one of them must have used. */
const NOTATIONS: Readonly<Record<string, { readonly files: readonly string[]; readonly kinds: readonly string[] }>> = {
  net: { files: ['publish.net.yaml'], kinds: ['input', 'undo', 'error'] },
  ojs: { files: ['order.chain.yaml'], kinds: ['literals', 'givenItems', 'scope', 'result', 'error'] },
  dag: {
    files: ['onboarding.workflow.yaml', 'payout.workflow.yaml', 'transfer.workflow.yaml'],
    kinds: ['input', 'literals', 'undo', 'undoError', 'error'],
  },
  playbook: {
    files: ['orders.yaml', 'order.yaml', 'release.yaml'].map((file) => `playbooks/${file}`),
    kinds: ['context', 'entries', 'noted', 'notedFailure', 'scope', 'heldToken', 'closedList', 'matchedFirings'],
  },
  saga: {
    files: ['provision_parties', 'report_execution', 'ore_import'].map((name) => `sagas/${name}.saga.yaml`),
    kinds: ['input', 'undo', 'undoAtHand', 'error'],
  },
}

describe('slots', () => {
  let folder: string
  let d: Drive
  let database: Database
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petrel-slots-'))
    const path = join(folder, 'petrel.db')
    d = await Drive.open({ name: 'sqlite', open: async () => ({ url: `sqlite:${path}`, drop: async () => {} }) })
    database = await openDatabase(path)
    database.exec(`CREATE TABLE seen_slot (key TEXT PRIMARY KEY);
      CREATE TRIGGER remember_slot AFTER INSERT ON workflow_slot BEGIN INSERT OR IGNORE INTO seen_slot VALUES (new.key); END`)
  })
  afterEach(async () => {
    database.close()
    await d.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const seen = (): readonly string[] =>
    (database.prepare('SELECT key FROM seen_slot').all() as unknown as { key: string }[]).map(({ key }) => key)

  it.each(Object.entries(NOTATIONS))('of %s are of declared kinds', async (_, { files, kinds }) => {
    for (const file of files) {
      const folder = join(EXAMPLES, file.slice(0, file.lastIndexOf('/') + 1))
      const { start } = await readDefinition(
        file,
        readFileSync(join(EXAMPLES, file), 'utf8'),
        siblingDefinitions(folder),
      )
      // Each node in turn is the one that fails, or stays silent.
      for (let failing = -1; failing < 4; failing++) {
        const id = await d.start({ ...start, input: { order_id: 1 }, initiator: 'ann' })
        await playThrough(failing)
        if ((await d.state(id)) !== 'completed') await retried(id)
      }
    }
    const keys = seen()
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.filter((key) => kindsOf(key).length === 0)).toEqual([])
    expect(new Set(keys.flatMap(kindsOf))).toEqual(new Set([...new Set(keys.flatMap(kindsOf)), ...kinds]))
  })

  async function retried(id: string): Promise<void> {
    if (!['failed', 'cancelled', 'compensated'].includes(await d.state(id)))
      await d.engine.cancelInstance({ id, actor: null })
    await playThrough(-1)
    const { id: again } = await d.engine.retryInstance({ id, actor: 'bob' })
    await playThrough(-1)
    expect(await d.state(again)).not.toBe('gone')
  }

  /** Until nothing is claimable and no gate is open. */
  async function playThrough(failing: number): Promise<void> {
    let n = 0
    for (let rounds = 0; rounds < 40; rounds++) {
      const runs = await d.claim()
      for (const run of runs) {
        if (n++ === failing) await d.fail(run, { retryable: false })
        else await d.succeed(run, { items: [1, 2], total: 2 }, false, { last: run.node })
      }
      const gates = await d.store.read.openGates({ instanceId: null, limit: 10 })
      for (const { id } of gates) await d.engine.answerGate({ gateId: id, approved: failing % 2 === 0, actor: 'ann' })
      if (runs.length === 0 && gates.length === 0) return
      await d.pass(60_000)
    }
  }
})
