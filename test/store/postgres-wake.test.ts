import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Wake } from '../../src/store/store.ts'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { anEvent } from './rows.ts'
import { put } from './subject.ts'

describe.skipIf(postgresUrl() === null)('postgres: notifications of other processes', () => {
  let subject: PostgresSubject
  beforeEach(async () => {
    subject = await postgresSubject()
  })
  afterEach(() => subject.close())

  it('a wake reaches every other store and not its sender; many are merged into few', async () => {
    const { store } = subject
    const other = await subject.open()
    const own: Wake[] = []
    const heard: Wake[] = []
    store.onWake((wake) => own.push(wake))
    const stop = other.onWake((wake) => heard.push(wake))
    for (let n = 0; n < 100; n++) store.wake({ queues: [`q${n % 3}`] })
    store.wake({ ended: ['x'], control: true })
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    await expect.poll(() => heard.some((wake) => wake.control === true)).toBe(true)
    expect(heard.length).toBeLessThan(5)
    expect(new Set(heard.flatMap((wake) => wake.queues ?? []))).toEqual(new Set(['q0', 'q1', 'q2']))
    // New connections are reported to the store's own process only.
    expect(own.filter((wake) => wake.lost !== true)).toEqual([])
    stop()
    store.wake({ control: true })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(heard.filter((wake) => wake.control === true)).toHaveLength(1)
  })

  it('a wake too long for a payload becomes an empty one, which means everything', async () => {
    const other = await subject.open()
    const heard: Wake[] = []
    other.onWake((wake) => heard.push(wake))
    subject.store.wake({ ended: Array.from({ length: 500 }, (_, n) => `${n}-`.padEnd(36, 'x')) })
    await expect.poll(() => heard).toEqual([{}])
  })

  it('the feed never skips an event still in flight', async () => {
    const { store, foreign } = subject
    await put(store, { events: [anEvent({ type: 'cron.fired' })] })
    await foreign.query('BEGIN')
    await foreign.query(`INSERT INTO workflow_event (event_type, engine) VALUES ('queue.paused', true)`)
    await put(store, { events: [anEvent({ type: 'queue.resumed' })] })
    const other = await subject.open()
    const types = async (reader: PostgresSubject['store']) =>
      (await reader.read.feed({ afterId: 0, limit: 10 })).map((event) => event.type)
    expect(await types(store)).not.toContain('queue.resumed')
    expect(await types(other)).not.toContain('queue.resumed')
    await foreign.query('COMMIT')
    expect(await types(store)).toEqual(['cron.fired', 'queue.paused', 'queue.resumed'])
    expect(await types(other)).toEqual(['cron.fired', 'queue.paused', 'queue.resumed'])
  })
})
