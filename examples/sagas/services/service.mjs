// @ts-check
// Shared by the services of these examples: a SQLite file for each, NATS, and shutdown by SIGTERM.
//
//   NATS_URL   default nats://127.0.0.1:4222
//   DATA       folder of the SQLite file, default the current one
//   PREFIX     as `petrel server --nats-prefix` has it, default none
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { DatabaseSync } from '@photostructure/sqlite'
import { sqliteKeys, stepConsumer } from 'petrel/nats'

/**
 * @typedef {import('petrel/nats').StepHandler<import('@photostructure/sqlite').DatabaseSyncInstance>} Handler
 * @param {{ name: string, tables: string, handlers: { [subject: string]: Handler } }} options
 */
export async function serve({ name, tables, handlers }) {
  const folder = process.env['DATA'] ?? '.'
  mkdirSync(folder, { recursive: true })
  const database = new DatabaseSync(join(folder, `${name}.db`))
  // Processes of one service share the file; the second one waits.
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL')
  database.exec(tables)
  const nc = await connect({
    servers: process.env['NATS_URL'] ?? 'nats://127.0.0.1:4222',
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    waitOnFirstConnect: true,
  })
  const prefix = process.env['PREFIX']
  const consumer = stepConsumer(nc, {
    keys: sqliteKeys({ database }),
    handlers,
    ...(prefix === undefined ? {} : { prefix }),
  })
  await nc.flush()
  console.log(`${name}: ready`)
  const stop = async () => {
    await consumer.stop()
    await nc.close()
    database.close()
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  return { consumer, database }
}

/**
 * A statement that gives one row, or none.
 * @param {import('@photostructure/sqlite').DatabaseSyncInstance} database
 * @param {string} sql
 * @param {(string | number | null)[]} values
 * @returns {any}
 */
export function row(database, sql, ...values) {
  return database.prepare(sql).get(...values)
}
