/** JSON by plain SQL has the limits of JSON through any other interface. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from '../../src/kernel/limits.ts'
import { RESERVED_PREFIXES } from '../../src/model/events/events.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

/** `levels` containers, alternating arrays and objects. */
const nested = (levels: number): string => {
  const kinds = Array.from({ length: levels - 1 }, (_, level) => level % 2 === 0)
  const open = kinds.map((list) => (list ? '[' : '{"a": ')).join('')
  const close = kinds.map((list) => (list ? ']' : '}')).reverse()
  return `${open}[]${close.join('')}`
}
/** The length of the text that Postgres prints. */
const long = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`
/** Many brackets, in depth and in strings, but few levels. */
const WIDE = JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ n, text: '[[{{'.repeat(3), list: [[n]] })))

const TOO_DEEP = `is nested at most ${MAX_JSON_DEPTH} levels deep`
const TOO_LONG = `has at most ${MAX_JSON_BYTES} bytes`

describe.each(SHARED)('the limits of JSON by plain SQL on $name', (place) => {
  let s: Stage
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  const schedule = `INSERT INTO workflow_schedule (${place.name === 'sqlite' ? 'id, ' : ''}type, payload, schedule, next_run_at)
    VALUES (${place.name === 'sqlite' ? `'11111111-1111-4111-8111-111111111111', ` : ''}'x.v1', `
  /** Where a client may write JSON, and the statement that does so. */
  const WRITES: readonly (readonly [string, (value: string) => Promise<string>])[] = [
    ['workflow_run.payload', async (value) => `INSERT INTO workflow_run (type, payload) VALUES ('x.v1', '${value}')`],
    [
      'workflow_run.payload',
      async (value) => `UPDATE workflow_run SET payload = '${value}' WHERE id = '${await go.insert('x.v1')}'`,
    ],
    [
      'workflow_run.result',
      async (value) => {
        await go.insert('x.v1')
        const { id } = await go.claimed()
        return `UPDATE workflow_run SET status = 'succeeded', result = '${value}' WHERE id = '${id}'`
      },
    ],
    [
      'workflow_event.data',
      async (value) =>
        `INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ('${await go.insert('x.v1')}', 'app.note', '${value}')`,
    ],
    ['workflow_schedule.payload', async (value) => `${schedule}'${value}', '0 9 * * 1', NOW)`],
  ]

  it.each(WRITES)(
    '%s accepts a value just within the limits, and refuses one beyond them (%#)',
    async (column, statement) => {
      const refused: readonly (readonly [string, string])[] = [
        [nested(MAX_JSON_DEPTH + 1), TOO_DEEP],
        [long(MAX_JSON_BYTES + 1), TOO_LONG],
      ]
      for (const [value, rule] of refused) {
        const text = await statement(value)
        const error = await go.sql(text).then(
          () => null,
          (thrown: Error & { readonly code?: string }) => thrown,
        )
        expect(error?.message).toContain(`${column}: ${rule}`)
        if (place.name === 'postgres') {
          expect(error).toMatchObject({ code: '23514', constraint: `${column.replace('.', '_')}_rule` })
        }
      }
      expect((await go.sql(await statement(nested(MAX_JSON_DEPTH)))).count).toBe(1)
      if (!column.startsWith('workflow_schedule')) {
        expect((await go.sql(await statement(long(MAX_JSON_BYTES)))).count).toBe(1)
        expect((await go.sql(await statement(WIDE))).count).toBe(1)
      }
    },
  )

  it('6,500 levels are refused, as a payload and as a result, and the run can still be ended', async () => {
    const deep = `${'['.repeat(6_500)}${']'.repeat(6_500)}`
    await expect(go.sql(`INSERT INTO workflow_run (type, payload) VALUES ('x.v1', '${deep}')`)).rejects.toThrow()
    const id = (await go.insert('x.v1')) as string
    await go.claimed()
    await expect(
      go.sql(`UPDATE workflow_run SET status = 'succeeded', result = '${deep}' WHERE id = '${id}'`),
    ).rejects.toThrow()
    expect(await go.status(id)).toBe('leased')
    await go.succeed(id, 7)
    await s.d.engine.sweep()
    expect(await s.run(id)).toMatchObject({ status: 'succeeded', result: '7' })
  })

  it('a failure is recorded however long its message is: the message is truncated', async () => {
    const id = (await go.insert('x.v1')) as string
    await go.fail(await go.claimed(), 'n'.repeat(3_000_000))
    const run = await s.run(id)
    expect(run).toMatchObject({ status: 'pending', attempt: 1, lastError: 'n'.repeat(65_536) })
    expect(JSON.parse(run.error as string)).toEqual({ code: 'handler_error', message: 'n'.repeat(65_536) })
    const { type, data } = await s.lastRecorded(id)
    expect([type, JSON.stringify(data).length < 66_000]).toEqual(['retried', true])
  })

  it('names in the registry and names of events are limited', async () => {
    const entry = (name: string, runtime: string, about: string): Promise<unknown> =>
      go.sql(
        `INSERT INTO workflow_registry (${place.name === 'sqlite' ? 'id, ' : ''}workflow_name, runtime, description)
         VALUES (${place.name === 'sqlite' ? `'r1', ` : ''}'${name}', '${runtime}', '${about}')`,
      )
    await expect(entry('x'.repeat(256), 'go', '')).rejects.toThrow(/workflow_registry\.workflow_name.*at most 255/)
    await expect(entry('x.v1', 'g'.repeat(256), '')).rejects.toThrow(/runtime.*at most 255/)
    await expect(entry('x.v1', 'go', 'd'.repeat(10_001))).rejects.toThrow(/description: has at most 10000/)
    await entry('x.v1', 'go', 'd'.repeat(10_000))
    const id = await go.insert('x.v1')
    await expect(
      go.sql(
        `INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ('${id}', 'a.${'b'.repeat(254)}', NULL)`,
      ),
    ).rejects.toThrow(/workflow_event\.event_type/)
  })

  it('an event of a client cannot have a type that begins like one of the engine', async () => {
    const id = await go.insert('x.v1')
    const event = (type: string): Promise<unknown> =>
      go.sql(`INSERT INTO workflow_event (workflow_id, event_type) VALUES ('${id}', '${type}')`)
    for (const prefix of RESERVED_PREFIXES) {
      await expect(event(`${prefix}.note`), prefix).rejects.toThrow(/workflow_event\.event_type/)
      await event(`${prefix}s.note`)
    }
  })
})
