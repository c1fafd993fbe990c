import { connect } from 'node:net'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { freshDatabase, natsUrl, postgresUrl } from './services.ts'

describe.skipIf(postgresUrl() === null)('the Postgres of the tests', () => {
  it('gives each caller an empty database of its own, gone after drop', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()])
    await query(one.url, 'CREATE TABLE mark (id int)')

    expect(await query(one.url, "SELECT to_regclass('mark') IS NOT NULL AS found")).toEqual([{ found: true }])
    expect(await query(other.url, "SELECT to_regclass('mark') IS NOT NULL AS found")).toEqual([{ found: false }])

    await Promise.all([one.drop(), other.drop()])
    await expect(query(one.url, 'SELECT 1')).rejects.toMatchObject({ code: '3D000' })
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

/** The INFO line a NATS server sends first. */
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
