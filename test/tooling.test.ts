import { connect } from 'node:net'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { emptyDatabase, freshDatabase, natsUrl, postgresUrl } from './services.ts'

describe.skipIf(postgresUrl() === null)('the Postgres of the tests', () => {
  it.each([
    ['migrated', freshDatabase, true],
    ['empty', emptyDatabase, false],
  ])('gives each caller a database of its own, %s, gone after drop', async (_, fresh, migrated) => {
    const [one, other] = await Promise.all([fresh(), fresh()])
    expect(await query(other.url, `SELECT ${isThere('workflow.workflow_run')}`)).toEqual([{ found: migrated }])
    await query(one.url, 'CREATE TABLE mark (id int)')

    expect(await query(one.url, `SELECT ${isThere('mark')}`)).toEqual([{ found: true }])
    expect(await query(other.url, `SELECT ${isThere('mark')}`)).toEqual([{ found: false }])

    await Promise.all([one.drop(), other.drop()])
    await expect(query(one.url, 'SELECT 1')).rejects.toThrow(/does not exist|not currently accepting connections/)
    await expect(query(other.url, 'SELECT 1')).rejects.toThrow(/does not exist|not currently accepting connections/)
  })

  it('drops a database that still has connections', async () => {
    const database = await freshDatabase()
    const client = new pg.Client({ connectionString: database.url })
    const ended = new Promise((resolve) => client.on('error', resolve))
    await client.connect()
    await database.drop()
    expect(await ended).toBeInstanceOf(Error)
  })

  it('is durable: fsync is on', async () => {
    expect(await query(postgresUrl()!, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
  })
})

describe.skipIf(natsUrl() === null)('the NATS of the tests', () => {
  it('answers with JetStream enabled', async () => {
    expect(await greeting(natsUrl()!)).toMatchObject({ jetstream: true })
  })
})

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

function isThere(table: string): string {
  return `to_regclass('${table}') IS NOT NULL AS found`
}

/** The INFO line that a NATS server sends first. */
function greeting(url: string): Promise<unknown> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port || 4222), hostname)
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(JSON.parse(data.toString().slice('INFO '.length)))
    })
  })
}
