/** Processes that carry out a bulk operation are killed at every kind of moment; others continue. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { HOLD_MS } from '../../src/engine/fold/bulk/operations.ts'
import type { Action } from '../../src/model/bulk/rows.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { built, Program } from '../crash/process.ts'
import { net, node, PLACES } from '../engine/drive.ts'

const PROCESS = fileURLToPath(new URL('process.mjs', import.meta.url))
const ITEMS = process.env['PETREL_TEST_FULL'] ? 1_500 : 130

/** Where a process is killed, one after the other: points of the runner, and of the store's commits. */
const MOMENTS = [
  { point: 'bulk-selecting', time: 1 },
  { point: 'bulk-taken', time: 1 },
  { point: 'bulk-item', time: 7 },
  { point: 'after-commit', time: 3 },
  { point: 'before-commit', time: 4 },
  { point: 'after-commit', time: 2 },
  { point: 'before-commit', time: 2 },
] as const

let dist: string
beforeAll(() => {
  dist = built()
}, 300_000)

describe.each(PLACES)('a bulk operation whose processes are killed, on $name', (place) => {
  let url: string
  let store: Store
  let engine: Engine
  let drop: () => Promise<void>

  beforeEach(async () => {
    const database = await place.open()
    const folder = mkdtempSync(join(tmpdir(), 'petrel-bulk-'))
    url = place.name === 'sqlite' ? `sqlite:${join(folder, 'petrel.db')}` : database.url
    store = await openStore(url)
    await store.migrate()
    engine = await Engine.open({ store, sweep: false })
    drop = async () => {
      await engine.close()
      await store.close()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
  afterEach(() => drop())

  const once = net([node('pay')], { name: 'order' })
  const start = async (): Promise<readonly string[]> => {
    const started = await engine.start(Array.from({ length: ITEMS }, () => ({ net: once })))
    return started.map(({ id }) => id)
  }

  /** Killed again and again, then carried out to its end by a last process. */
  async function killedOften(action: Action, query: string): Promise<string> {
    const order = { tenant: null, actor: 'ada', reason: null, target: 'instances', parameters: {}, rate: null } as const
    const { id } = await engine.bulk.create({ ...order, action, query })
    let offset = 0
    for (const at of MOMENTS) {
      expect(await new Program(PROCESS, { dist, url, at }).exit()).toBe('SIGKILL')
      // What the killed process had in hand is free again.
      offset += HOLD_MS
      await store.moveClock(offset)
    }
    const last = new Program(PROCESS, { dist, url, at: null })
    await last.line('finished', 60_000)
    return id
  }

  async function everyItem(id: string): Promise<void> {
    const counts = { matched: ITEMS, succeeded: ITEMS, refused: 0, failed: 0, pending: 0 }
    expect(await engine.bulk.get(id)).toMatchObject({ state: 'completed', ...counts })
    const items = await engine.bulk.items({ operationId: id, state: 'succeeded', limit: 10_000, before: null })
    expect(items).toHaveLength(ITEMS)
  }

  it('retry: each instance is retried exactly once', async () => {
    const ids = await start()
    for (const id of ids) await engine.cancelInstance({ id, actor: null })
    const operation = await killedOften('retry', 'state:cancelled')
    await everyItem(operation)
    const all = { states: ['running'], name: null, dialect: null, tenant: null, rootsOnly: true, before: null }
    const retries = await store.read.listInstances({ ...all, limit: 10_000 })
    expect(retries.map(({ retryOf }) => retryOf).toSorted()).toEqual([...ids].toSorted())
    expect(await store.read.doctor()).toEqual([])
  }, 120_000)

  it('cancel: each instance is cancelled exactly once', async () => {
    const ids = await start()
    const operation = await killedOften('cancel', 'state:running')
    await everyItem(operation)
    for (const id of ids) {
      const recorded = await store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 100 })
      expect(recorded.filter(({ type }) => type === 'instance.cancel_requested')).toHaveLength(1)
    }
  }, 120_000)

  it('delete: each instance is removed, with its result recorded', async () => {
    for (const id of await start()) await engine.cancelInstance({ id, actor: null })
    await everyItem(await killedOften('delete', 'state:cancelled'))
    expect(await store.read.countInstances()).toEqual(new Map())
    expect(await store.read.doctor()).toEqual([])
  }, 120_000)
})
