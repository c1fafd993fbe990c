/**
 * What has been acknowledged survives a power cut: whichever connection commits it waits for the disk. Looked at on the
 * connections that stores and engines open themselves, at each COMMIT that they make.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, type MockInstance, vi } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { Connection } from '../../src/store/sqlite/connection.ts'
import type { Store } from '../../src/store/store.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node } from '../engine/drive.ts'
import { aCommand, aDeferred } from './commands.ts'
import { anInstance, aRun } from './rows.ts'
import { put } from './subject.ts'

const FULL = 2
const NORMAL = 1

let folder: string
/** `PRAGMA synchronous` at each COMMIT since it was last emptied. */
let commits: number[]
let watching: MockInstance<Connection['statement']>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petrel-synced-'))
  commits = []
  const { statement } = Connection.prototype
  watching = vi.spyOn(Connection.prototype, 'statement').mockImplementation(function (this: Connection, sql) {
    if (sql === 'COMMIT') commits.push(Number(statement.call(this, 'PRAGMA synchronous').get()?.[0]))
    return statement.call(this, sql)
  })
})
afterEach(() => {
  watching.mockRestore()
  rmSync(folder, { recursive: true, force: true })
})

const url = (): string => `sqlite:${join(folder, 'petrel.db')}`

/** How the commits that this makes were made. */
async function commitsOf(work: () => Promise<unknown>): Promise<number[]> {
  commits = []
  await work()
  return [...new Set(commits)]
}

it('a new file, and one that another process has made, from the first commit on', async () => {
  const stores: Store[] = []
  const open = async (): Promise<Store> => {
    const store = await openStore(url())
    stores.push(store)
    return store
  }
  expect(await commitsOf(async () => (await open()).migrate())).toEqual([FULL])
  expect(await commitsOf(async () => put(await open(), { runs: { insert: [aRun()] } }))).toEqual([FULL])
  expect(await commitsOf(async () => (await open()).moveClock(1_000))).toEqual([FULL])
  expect(await commitsOf(() => put(stores[0] as Store, { runs: { insert: [aRun()] } }))).toEqual([FULL])
  for (const store of stores) await store.close()
})

it('whatever an engine records', async () => {
  const d = await Drive.open({ name: 'sqlite', open: async () => ({ url: url(), drop: async () => {} }) })
  const work = { kind: 'gate', options: {}, timeoutMs: null, onTimeout: 'reject' } as const
  const steps = net([node('a', ['b']), node('b', ['gate']), node('gate', ['c'], { work }), node('c')])
  let id = ''
  let held: Delivery
  const report = (outcome: { readonly kind: 'deferred' }) =>
    d.session.settle({ delivery: held, reportId: 'deferred', startedAt: null, outcome, wantNext: false })
  const claim = async (): Promise<void> => {
    held = await d.claimOne()
  }
  const answer = async (): Promise<void> => {
    const [gate] = await d.store.read.openGates({ instanceId: id, limit: 1 })
    await d.engine.answerGate({ gateId: gate?.id ?? '', approved: true, actor: 'ann' })
  }
  const done: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['start', async () => (id = await d.start({ net: steps }))],
    ['claim', claim],
    ['begin', () => d.session.started([{ runId: held.runId, epoch: held.epoch, at: Date.now() }])],
    ['settle', () => d.succeed(held)],
    ['claim again', claim],
    ['defer', () => report({ kind: 'deferred' })],
    ['complete', () => d.engine.complete({ runId: held.runId, outcome: { kind: 'succeeded', result: 1 } })],
    ['answer', answer],
    ['pass', () => d.pass(1_000)],
    ['cancel', () => d.engine.cancelInstance({ id, actor: 'ann' })],
  ]
  for (const [what, act] of done) expect([what, await commitsOf(act)]).toEqual([what, [FULL]])
  expect(await d.state(id)).toBe('cancelled')
  await d.close()
})

it('all but what is noted about the publishing of a command, which the next commit takes along', async () => {
  const store = await openStore(url())
  await store.migrate()
  const instance = anInstance({ dialect: 'saga', open: 1 })
  const run = aDeferred(instance, 'a')
  const asked = { instances: { insert: [instance] }, runs: { insert: [run] }, commands: { put: [aCommand(run)] } }
  expect(await commitsOf(() => put(store, asked))).toEqual([FULL])
  expect(await commitsOf(() => store.commands.take({ limit: 10, holdMs: 5_000 }))).toEqual([NORMAL])
  expect(await commitsOf(() => store.commands.confirm({ runIds: [run.id] }))).toEqual([NORMAL])
  expect(await commitsOf(() => store.commands.renew())).toEqual([NORMAL])
  expect(await commitsOf(() => put(store, { runs: { insert: [aRun()] } }))).toEqual([FULL])
  await store.close()
})
