/** Columns of runs that plain SQL cannot write: all that are not listed here, a column that is added later among them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RUN } from '../../src/model/rows.ts'
import { type Column, columnsOf } from '../../src/model/table.ts'
import type { Foreign } from './foreign.ts'
import { SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

/** Docs: inbox.md. Some of them only with other values than the ones below. */
const OF_CLIENTS = {
  insert: [
    ...['id', 'type', 'payload', 'priority', 'run_at', 'idempotency_key', 'max_attempts', 'created_at', 'deleted_at'],
    ...['queue', 'tenant', 'timeout_ms', 'timeout_per', 'expires_at', 'inbox', 'fair_key'],
  ],
  update: [
    ...['type', 'payload', 'priority', 'run_at', 'attempt', 'max_attempts', 'queue', 'leased_by', 'lease_until'],
    ...['status', 'last_error', 'result', 'deleted_at'],
  ],
}

/** A value of that kind which no run has by itself. */
function unusual({ kind, name }: Column, sqlite: boolean): string {
  const time = sqlite ? '1700000000000' : "'2023-11-14T22:13:20Z'"
  const yes = sqlite ? '1' : 'true'
  const values = {
    uuid: "'0192f0c1-2f6b-7c3a-9d5e-000000000001'",
    text: { status: "'succeeded'", role: "'undo'", timeout_per: "'node'" }[name] ?? "'unusual'",
    ...{ int: '7', bigint: '7', bool: yes, time, json: `'{"a":1}'`, jsonb: `'{"a":1}'`, list: "'[]'" },
  }
  return values[kind]
}

describe.each(SHARED)('columns of runs by plain SQL on $name', (place) => {
  let stage: Stage
  let client: Foreign
  beforeAll(async () => {
    stage = await Stage.open(place)
    client = await stage.foreign()
  })
  afterAll(() => stage.close())

  const sqlite = place.name === 'sqlite'
  const cell = async (id: string, name: string): Promise<string> => {
    const { rows } = await client.sql(`SELECT ${name} AS value FROM workflow_run WHERE id = '${id}'`)
    return JSON.stringify(rows[0]?.['value'])
  }
  // The SQLite file belongs to the program that writes it, so it may choose limits too.
  const insertable = sqlite ? [...OF_CLIENTS.insert, 'limit_key'] : OF_CLIENTS.insert
  const others = (mine: readonly string[]) => columnsOf(RUN).filter(({ name }) => !mine.includes(name))

  it.each(others(insertable))('a new run cannot have $name', async (column) => {
    const plain = (await client.insert('mail.send.v1')) as string
    const insert = `INSERT INTO workflow_run (type, payload, ${column.name})
      VALUES ('mail.send.v1', '{}', ${unusual(column, sqlite)}) RETURNING id`
    const made = await client.sql(insert).catch(() => null)
    const id = made?.rows[0]?.['id'] as string | undefined
    if (id !== undefined) expect(await cell(id, column.name)).toBe(await cell(plain, column.name))
  })

  it.each(others(OF_CLIENTS.update))('a pending run keeps its $name', async (column) => {
    const id = (await client.insert('mail.send.v1')) as string
    const before = await cell(id, column.name)
    await client
      .sql(`UPDATE workflow_run SET ${column.name} = ${unusual(column, sqlite)} WHERE id = '${id}'`)
      .catch(() => null)
    expect(await cell(id, column.name)).toBe(before)
  })
})
