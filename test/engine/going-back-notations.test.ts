/**
 * Examples of every notation are played to their end and then forked from every place: each fork does exactly the work again
 * that its preview listed, takes all other over, and ends as the first one did.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { siblingDefinitions } from '../../src/client/sibling-definitions.ts'
import type { RunRow } from '../../src/model/rows.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { Drive, PLACES } from './drive.ts'

const EXAMPLES = new URL('../../examples/', import.meta.url).pathname

const FILES = [
  'publish.net.yaml',
  'order.chain.yaml',
  'onboarding.workflow.yaml',
  'transfer.workflow.yaml',
  'playbooks/orders.yaml',
  'playbooks/order.yaml',
  'sagas/provision_parties.saga.yaml',
]
/** Places of one example: more repeat the same forms. */
const MOST_PLACES = 8

describe.each(PLACES)('going back in every notation on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  /** Until nothing is claimable and no gate is open. */
  async function play(): Promise<number> {
    let done = 0
    for (let rounds = 0; rounds < 60; rounds++) {
      const runs = await d.claim()
      for (const run of runs) await d.succeed(run, { items: [1, 2], total: 2 }, false, { last: run.node })
      done += runs.filter(({ role }) => role === 'work').length
      const gates = await d.store.read.openGates({ instanceId: null, limit: 10 })
      for (const { id } of gates) await d.engine.answerGate({ gateId: id, approved: true, actor: 'ann' })
      if (runs.length === 0 && gates.length === 0) return done
      await d.pass(60_000)
    }
    throw new Error('it does not end')
  }

  const runsOf = async (instanceId: string): Promise<readonly RunRow[]> =>
    (await d.store.read.instanceRuns({ instanceId, limit: 1000, after: null })).filter(({ role }) => role === 'work')

  it.each(FILES)('%s', { timeout: 120_000 }, async (file) => {
    const folder = join(EXAMPLES, file.slice(0, file.lastIndexOf('/') + 1))
    const { start } = await readDefinition(file, readFileSync(join(EXAMPLES, file), 'utf8'), siblingDefinitions(folder))
    const id = await d.start({ ...start, input: { order_id: 1 }, initiator: 'ann' })
    await play()
    const ended = await d.state(id)
    expect(['completed', 'failed', 'compensated']).toContain(ended)
    const runs = await runsOf(id)
    expect(runs.length).toBeGreaterThan(0)
    const results = ended === 'completed' ? Object.keys(await d.results(id)).sort() : []
    for (const run of runs.slice(0, MOST_PLACES)) {
      const node = run.node as string
      const fires = [...new Set(runs.filter((r) => r.node === node).map(({ fire }) => fire))].sort((a, b) => a - b)
      const from = { step: node, firing: fires.indexOf(run.fire) + 1, ...(run.item < 0 ? {} : { item: run.item }) }
      const listed = await d.engine.previewRetry({ id, fork: true, from, limit: 100 })
      const again = listed.again.filter(({ kind }) => kind === 'run').reduce((sum, { count }) => sum + count, 0)
      const carried = listed.carried.filter(({ kind }) => kind === 'run').reduce((sum, { count }) => sum + count, 0)
      expect(again + carried).toBe(runs.length)
      const fork = (await d.engine.retryInstance({ id, fork: true, from, actor: 'ann' })).id
      await play()
      expect(await d.state(fork)).toBe(ended)
      const repeated = await runsOf(fork)
      const history = await Promise.all(repeated.map((row) => d.store.read.runHistory(row.id)))
      const taken = history.filter((events) => (events[0]?.data ?? '').includes('taken_over')).length
      expect([from, repeated.length - taken, taken]).toEqual([from, again, carried])
      if (ended === 'completed') expect(Object.keys(await d.results(fork)).sort()).toEqual(results)
    }
  })
})
