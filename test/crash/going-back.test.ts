/**
 * A process that goes back is killed with SIGKILL: before its commit nothing has happened, after it everything has, and the
 * same request to another process ends the same.
 */
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EachWork } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, run } from '../engine/drive.ts'
import { postgresUrl } from '../services.ts'
import { type StoreKind, TestDatabase } from './database.ts'
import { built, Program } from './process.ts'

const PROGRAM = fileURLToPath(new URL('going-back.mjs', import.meta.url))
const POINTS = ['before-commit', 'after-commit'] as const
const KINDS: readonly StoreKind[] = ['sqlite', 'postgres']
const BROKEN = new Error('broken')

describe.each(KINDS)('going back, killed with SIGKILL (%s)', { timeout: 120_000 }, (kind) => {
  let dist = ''
  let database: TestDatabase
  let d: Drive
  let running: Program | null = null

  beforeAll(() => {
    dist = built()
  }, 120_000)

  beforeEach(async () => {
    if (kind === 'postgres' && postgresUrl() === null) return
    database = await TestDatabase.create(kind)
    d = await Drive.open({ name: kind, open: async () => ({ url: database.url, drop: async () => {} }) })
  })

  afterEach(async () => {
    await running?.kill()
    running = null
    if (kind === 'postgres' && postgresUrl() === null) return
    expect(await d.doctor()).toEqual([])
    await d.close()
    await database.drop()
  })

  async function killedIn(verb: string, params: object, point: string): Promise<void> {
    running = new Program(PROGRAM, { dist, url: database.url, verb, params, point })
    expect(await running.line('stopped')).toEqual({ stopped: point })
    await running.kill()
  }

  const retries = async (id: string) =>
    d.store.read.listInstances({
      states: null,
      name: null,
      dialect: null,
      tenant: null,
      rootsOnly: true,
      retryOf: id,
      limit: 10,
      before: null,
    })

  it.skipIf(kind === 'postgres' && postgresUrl() === null).each(POINTS)('a retry from a step, %s', async (point) => {
    const flow = net([
      node('a', ['b']),
      node('b', ['c'], { work: run('b', { args: { n: 1 } }) }),
      node('c', [], { retry: ONCE }),
    ])
    const id = await d.start({ net: flow })
    await d.work((w) => (w.node === 'c' ? BROKEN : null))
    const params = { id, actor: 'ann', from: { step: 'b' }, args: { n: 2 }, startKey: 'again' }
    await killedIn('retryInstance', params, point)
    expect(await retries(id)).toHaveLength(point === 'before-commit' ? 0 : 1)
    const retry = await d.engine.retryInstance(params)
    expect(retry.created).toBe(point === 'before-commit')
    const seen: string[] = []
    const answer = (w: Delivery): null => {
      seen.push(w.payload)
      return null
    }
    expect(await d.work(answer)).toEqual(['b', 'c'])
    expect(JSON.parse(seen[0] as string)).toEqual({ n: 2 })
    expect(await d.state(retry.id)).toBe('completed')
    expect(await retries(id)).toHaveLength(1)
  })

  it.skipIf(kind === 'postgres' && postgresUrl() === null).each(POINTS)(
    'a run done again in place, %s',
    async (point) => {
      const work: EachWork = { kind: 'each', items: '[0, 1]', body: run('item'), maxInFlight: null, failFast: false }
      const id = await d.start({ net: net([node('l', [], { work, retry: ONCE })]) })
      const [first, second] = await d.claim()
      await d.fail(first as never, { retryable: false })
      const params = { runId: first?.runId as string, actor: 'ann' }
      await killedIn('redrive', params, point)
      const after = await d.store.read.run(params.runId)
      expect(after?.status).toBe(point === 'before-commit' ? 'failed' : 'pending')
      const again = d.engine.redrive(params)
      if (point === 'before-commit') await again
      else await expect(again).rejects.toMatchObject({ code: 'conflict' })
      await d.succeed(second as never)
      expect(await d.work()).toEqual(['l'])
      expect(await d.state(id)).toBe('completed')
    },
  )

  it.skipIf(kind === 'postgres' && postgresUrl() === null).each(POINTS)('a fork from a step, %s', async (point) => {
    const id = await d.start({ net: net([node('a', ['b']), node('b', ['c']), node('c')]) })
    expect(await d.work()).toEqual(['a', 'b', 'c'])
    const params = { id, actor: 'ann', fork: true, from: { step: 'b' }, startKey: 'what if' }
    await killedIn('retryInstance', params, point)
    expect(await retries(id)).toHaveLength(point === 'before-commit' ? 0 : 1)
    const fork = await d.engine.retryInstance(params)
    expect(fork.created).toBe(point === 'before-commit')
    expect(await d.work()).toEqual(['b', 'c'])
    expect([await d.state(id), await d.state(fork.id)]).toEqual(['completed', 'completed'])
    expect(await retries(id)).toHaveLength(1)
    expect(await d.recorded(fork.id, 'instance.forks')).toHaveLength(1)
  })

  it.skipIf(kind === 'postgres' && postgresUrl() === null).each(POINTS)(
    'a run that waits for its next attempt and is made due, %s',
    async (point) => {
      const retry = { ...ONCE, maxAttempts: 3, initialMs: 3_600_000, maxMs: 3_600_000 }
      const id = await d.start({ net: net([node('a', [], { retry })]) })
      const first = await d.claimOne()
      await d.fail(first, {})
      await killedIn('retryNow', { id: first.runId, actor: 'ann' }, point)
      if (point === 'before-commit') {
        expect(await d.claim()).toEqual([])
        await d.engine.retryNow({ id: first.runId, actor: 'ann' })
      }
      const second = await d.claimOne()
      expect([second.runId, second.attempt]).toEqual([first.runId, 2])
      await expect(d.engine.retryNow({ id: first.runId, actor: 'ann' })).rejects.toMatchObject({ code: 'conflict' })
      await d.succeed(second)
      expect(await d.state(id)).toBe('completed')
    },
  )
})
