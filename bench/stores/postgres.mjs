// @ts-check
/** Postgres: a database of its own on the server given. */
import pg from 'pg'
import { barePostgres } from '../bare/postgres.mjs'

/** @param {{ server: string, internal: (path: string) => Promise<any> }} params @returns {Promise<import('./store.mjs').BenchStore>} */
export async function createPostgres({ server, internal }) {
  const name = `petrel_bench_${process.pid}_${Date.now().toString(36)}`
  const admin = await connect(server)
  await admin.query(`CREATE DATABASE ${name}`)
  // Not during the measurement.
  await admin.query('CHECKPOINT')
  const address = new URL(server)
  address.pathname = `/${name}`
  const url = address.toString()
  const before = { walBytes: 0 }
  const written = { rows: 0, walBytes: 0 }

  const position = async () => {
    const { rows } = await admin.query(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes`)
    return Number(rows[0].bytes)
  }

  return {
    kind: 'postgres',
    url,
    settleConnections: 2,
    async tap() {},

    async beginCounting() {
      before.walBytes = await position()
    },

    async endCounting() {
      written.walBytes = (await position()) - before.walBytes
    },

    async counted() {
      // Connections report their writes to the statistics when they end, or seconds later.
      const client = await connect(url)
      for (let tries = 0; tries < 50; tries++) {
        const others = await client.query(
          'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
        )
        if (others.rowCount === 0) break
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      const { rows } = await client.query(
        `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 AS rows FROM pg_stat_user_tables
         WHERE relname IN ('workflow_run', 'workflow_instance', 'workflow_slot') OR relname LIKE 'workflow\\_event%'`,
      )
      written.rows = rows[0].rows
      await client.end()
      return written
    },

    async committer() {
      const client = await connect(server)
      const table = `${name}_commit`
      await client.query(`CREATE TABLE ${table} (id bigserial PRIMARY KEY, text text)`)
      const insert = { name: 'insert', text: `INSERT INTO ${table} (text) VALUES ($1)`, values: ['one row'] }
      return {
        async commit() {
          await client.query(insert)
        },
        async close() {
          await client.query(`DROP TABLE ${table}`)
          await client.end()
        },
      }
    },

    bareWriter: () => barePostgres({ url, internal }),

    async remove() {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await admin.end()
    },
  }
}

/** @param {string} url */
async function connect(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
