/** Guarantees for plain SQL: its own event types are kept, ids are unique, and a workflow does not lose its step. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/net/net.ts'
import type { Drive } from '../engine/drive.ts'
import { chain, group, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('rows of plain SQL on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })
  const tell = async (id: string, word: string, data: Json): Promise<number> =>
    (
      await go.sql(
        `INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ('${id}', '${word}', '${JSON.stringify(data)}')`,
      )
    ).count
  const recorded = async (id: string): Promise<string[]> =>
    (await d.store.read.runHistory(id)).map(({ type, data }) =>
      data === null ? type : `${type} ${JSON.stringify(JSON.parse(data))}`,
    )

  it("a started or heartbeat event with data of its own is kept, and one that repeats the triggers' is dropped", async () => {
    const id = (await go.insert('x.v1')) as string
    expect(await tell(id, 'started', { host: 'early' })).toBe(0)
    await go.claimed('go-1')
    expect(await tell(id, 'started', { worker_id: 'go-1' })).toBe(0)
    expect(await tell(id, 'started', { worker_id: 'go-1', host: 'a' })).toBe(1)
    await go.heartbeat(id, 60)
    expect(await tell(id, 'heartbeat', { extended_by_seconds: 60 })).toBe(0)
    expect(await tell(id, 'heartbeat', { extended_by_seconds: 60, done: 0.5 })).toBe(1)
    expect(await tell(id, 'heartbeat', 'half')).toBe(1)
    await go.succeed(id, 1)
    expect(await tell(id, 'heartbeat', { done: 1 })).toBe(0)
    expect(await tell(id, 'succeeded', { mine: true })).toBe(0)
    expect(await recorded(id)).toEqual([
      'created',
      expect.stringMatching(/^leased /),
      'started {"worker_id":"go-1"}',
      expect.stringMatching(/^started .*"host":"a"/),
      'heartbeat {"extended_by_seconds":60}',
      expect.stringMatching(/^heartbeat .*"done":0\.5/),
      'heartbeat "half"',
      'succeeded',
    ])
  })

  it('event ids are unique, whatever a client supplies', async () => {
    const id = (await go.insert('x.v1')) as string
    for (const given of [1, 1, 9_000_000_000]) {
      const values = `${given}, '${id}', 'app.note'`
      await go.sql(`INSERT INTO workflow_event (id, workflow_id, event_type) VALUES (${values})`).catch(() => {})
    }
    await go.claimed()
    await go.succeed(id, 1)
    const { rows } = await go.sql('SELECT count(*) AS n, count(DISTINCT id) AS ids FROM workflow_event')
    expect(Number(rows[0]?.['n'])).toBe(Number(rows[0]?.['ids']))
  })

  it('the row of a step is not removed before its workflow has ended', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const [bare, hidden] = [await go.insert('c.v1'), (await go.insert('c.v1')) as string]
    const step = (await s.runAt(id, '0')).id
    const remove = (run: string): Promise<unknown> => go.sql(`DELETE FROM workflow_run WHERE id = '${run}'`)
    await expect(remove(step)).rejects.toThrow(/workflow_run\.status/)
    await expect(remove(bare as string)).rejects.toThrow(/workflow_run\.status/)
    await go.claimed('go-1', 'a.%')
    await expect(remove(step)).rejects.toThrow(/workflow_run\.status/)
    await go.succeed(step, 1)
    await expect(remove(step)).rejects.toThrow(/workflow_run\.status/)
    await d.engine.sweep()
    // Its end is settled, but later steps still receive its result.
    await expect(remove(step)).rejects.toThrow(/workflow_run\.status/)
    await go.work('go-1', 'b.%')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('completed')
    await remove(step)
    await go.delete(hidden)
    await remove(hidden)
    expect(await go.work('go-1', '%')).toEqual(['c.v1'])
  })

  it('nor while its enclosing workflow continues', async () => {
    const id = await workflow(d, chain(group(job('a.v1')), job('b.v1')))
    const ended = await go.claimed('go-1', 'a.%')
    const remove = (): Promise<unknown> => go.sql(`DELETE FROM workflow_run WHERE id = '${ended.id}'`)
    await go.succeed(ended.id, 1)
    await d.engine.sweep()
    await expect(remove()).rejects.toThrow(/workflow_run\.status/)
    await go.work('go-1', 'b.%')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('completed')
    await remove()
  })
})
