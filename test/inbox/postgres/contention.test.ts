/**
 * Laws that hold for any actors in any order: plain SQL clients that claim, send heartbeats, fail, finish, return,
 * cancel and come too late, Petrel's own worker and an engine that sweeps, all on the same runs.
 */

import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { petrelOn } from '../../../src/client/petrel.ts'
import { Engine } from '../../../src/engine/engine.ts'
import { until } from '../../server/serving.ts'
import { postgresUrl } from '../../services.ts'
import type { Claimed, InboxClient } from './clients.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const RUNS = 60
const LETTERS: Readonly<Record<string, string>> = {
  created: 'c',
  leased: 'l',
  started: 's',
  heartbeat: 'h',
  retried: 'r',
  returned: 'b',
  succeeded: 'S',
  failed: 'F',
  cancelled: 'X',
}
/**
 * Created; leases that were returned; at most one that was not; one end. A heartbeat may precede the start: for a run
 * that Petrel's worker holds and has not begun, logged by a client that believes it holds the run.
 */
const LIFE = /^c(lh*s?h*[rb])*(lh*s?h*)?[SFX]$/

describe.skipIf(postgresUrl() === null)('concurrent plain SQL clients and Petrel', () => {
  let stage: InboxStage
  beforeEach(async () => {
    stage = await inboxStage()
  })
  afterEach(() => stage.close())

  it('every run ends once, its events describe one life, and its attempts are the reported failures', async () => {
    const engine = await Engine.open({ store: stage.store, pollMs: 20 })
    const petrel = petrelOn(engine)
    // long enough for the others to get their share
    petrel.handle('load.%', () => new Promise((resolve) => setTimeout(resolve, 60, 'ours')))
    await petrel.work({ concurrency: 2, pollMs: 50 })
    const go = await stage.client('Go')
    const ids: string[] = []
    for (let n = 0; n < RUNS; n++) ids.push(await go.submit('load.test.v1', { maxAttempts: 3 }))
    let calm = false
    const busy = Array.from({ length: 3 }, async (_, index) => {
      const client = await stage.client('Go')
      const session = await stage.connect()
      const old: Claimed[] = []
      while (!calm) {
        const claimed = await client.claim(`w${index}`, ['load.%'], Math.random() < 0.3 ? 0 : 30)
        if (claimed !== null) old.push(claimed)
        const one = Math.random() < 0.7 ? old.at(-1) : old[Math.floor(Math.random() * old.length)]
        if (one !== undefined) await interfere(session, client, one)
        // a row that was leased in the meantime is skipped; two such clients on the same rows may deadlock
        await session
          .query(`UPDATE workflow_run SET run_at = now() WHERE status = 'pending' AND run_at > now()`)
          .catch(() => {})
      }
    })
    const ended = async (): Promise<number> =>
      (await stage.sql('SELECT count(*)::int AS n FROM workflow_run WHERE settled_at IS NOT NULL')).rows[0]!['n']
    const count = await until(ended, (found) => found === RUNS, 60_000)
    calm = true
    await Promise.all(busy)
    expect(count).toBe(RUNS)
    await petrel.close({ graceMs: 0 })
    await engine.close()
    for (const id of ids) {
      const run = await stage.run(id)
      const life = (await stage.history(id)).map((event) => LETTERS[event.type] ?? event.type).join('')
      expect(life, id).toMatch(LIFE)
      expect(life.at(-1), life).toBe({ succeeded: 'S', failed: 'F', cancelled: 'X' }[run['status'] as 'failed'])
      expect(life.match(/[rF]/g)?.length ?? 0, life).toBe(run['attempt'])
      expect(run, life).toMatchObject({ leased_by: null, lease_until: null, session_id: null })
    }
    // checks that there were conflicts
    const words = (await stage.sql('SELECT DISTINCT event_type FROM workflow_event')).rows.map(
      (row) => row['event_type'],
    )
    expect(words).toEqual(expect.arrayContaining(['heartbeat', 'retried']))
    expect(await stage.store.read.doctor()).toEqual([])
  }, 120_000)
})

/** Operations a worker might perform on a run it holds, or believes it holds. */
async function interfere(session: pg.Client, client: InboxClient, run: Claimed): Promise<void> {
  const chance = Math.random()
  if (chance < 0.25) await client.complete(run.id, { by: client.name })
  else if (chance < 0.5) await client.fail(run, 'no')
  else if (chance < 0.7) await client.heartbeat(run.id, 5)
  else if (chance < 0.8) await session.query(`UPDATE workflow_run SET status = 'pending' WHERE id = $1`, [run.id])
  else if (chance < 0.85) await client.cancel(run.id)
  else await client.event(run.id, 'succeeded', { forged: true })
}
