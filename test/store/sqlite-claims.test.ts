import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Connection } from '../../src/store/sqlite/connection.ts'
import { WAITING_TYPES, waitingQueues, waitingTypes } from '../../src/store/sqlite/load/claimable.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { aRun } from './rows.ts'
import { load, put } from './subject.ts'

describe('sqlite: prefixes of types', () => {
  let folder: string
  let store: Store
  let beside: Connection
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petrel-claims-'))
    const path = join(folder, 'petrel.db')
    store = await openSqlite({ path })
    await store.migrate()
    beside = await Connection.open(path, null)
  })
  afterEach(async () => {
    await beside.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const filter = (type: string) => ({
    queues: null,
    types: [type],
    tenant: null,
    runtime: null,
    limit: 10,
    skipQueues: [],
    skipLimitKeys: [],
  })

  it('are ranges of the claim index: each type costs one probe, however many runs it has', () => {
    const steps = beside.statement(`EXPLAIN QUERY PLAN ${WAITING_TYPES}`).all('default', 'mail_')
    const looks = steps.map((step) => String(step[3])).filter((text) => text.includes('workflow_run'))
    expect(looks).toHaveLength(2)
    for (const look of looks) {
      expect(look).toMatch(
        /^SEARCH workflow_run USING COVERING INDEX idx_workflow_run_type_prefix \(queue=\? AND type>\?\)/,
      )
    }
  })

  it('bytes that are not text, written by another program, delay nothing else', async () => {
    const now = await store.now()
    const types = ['a\u{10FFFF}', 'b', 'ü', '\u{1F426}']
    await put(store, { runs: { insert: types.map((type) => aRun({ type, runAt: now - 1_000 })) } })
    // 0xFF sorts after every character, and is read as U+FFFD, which does not.
    beside.exec(`INSERT INTO workflow_run (id, type, payload, queue, run_at, engine_turn) VALUES
      ('b1', CAST(x'61FF' AS TEXT), '{}', 'default', 0, 1), ('b2', 'b', '{}', CAST(x'FF' AS TEXT), 0, 1)`)
    expect(waitingTypes(beside, 'default', 'a')).toHaveLength(2)
    expect(waitingTypes(beside, 'default', '')).toHaveLength(5)
    expect(waitingQueues(beside)).toHaveLength(2)
    const found = await load(store, { candidates: filter('%') })
    expect(found.candidates.map((run) => run.type).sort()).toEqual(types)
  })
})
