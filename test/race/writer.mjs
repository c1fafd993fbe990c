// @ts-check
/** A client independent of the engine that ends pending and leased runs by plain SQL, one or several at a time. */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

/** @returns {Promise<(sql: string) => Promise<any[]>>} */
async function connect() {
  if (settings.url.startsWith('postgres')) {
    const { default: pg } = await import('pg')
    const client = new pg.Client({ connectionString: settings.url })
    await client.connect()
    return async (sql) => (await client.query(sql)).rows
  }
  const { openDatabase } = await import(pathToFileURL(`${settings.dist}/insides.js`).href)
  const database = await openDatabase(settings.url.slice('sqlite:'.length))
  // SQLite's lock has no queue: two busy engines can keep it for a long time.
  database.exec('PRAGMA busy_timeout = 20000')
  return async (sql) => database.prepare(sql.replaceAll('workflow.', '')).all()
}

const ENDS = [
  `status = 'succeeded', result = '{"raw": true}'`,
  `status = 'succeeded', result = '1'`,
  `status = 'cancelled'`,
  `status = 'failed', last_error = 'said from outside'`,
]

const query = await connect()
const counts = { written: 0, deadlocks: 0 }
let calm = false

async function writing() {
  while (!calm) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    const many = Math.random() < 0.3
    // One transaction over several rows in random order: a deadlock may choose this client as its victim, and it
    // retries.
    try {
      const found = await query(
        `SELECT id FROM workflow.workflow_run WHERE status IN ('pending', 'leased') ORDER BY random() LIMIT ${many ? 5 : 1}`,
      )
      if (found.length === 0) continue
      const ids = found.map(({ id }) => `'${id}'`).join(', ')
      const end = ENDS[Math.floor(Math.random() * ENDS.length)]
      const written = await query(
        `UPDATE workflow.workflow_run SET ${end} WHERE id IN (${ids}) AND status IN ('pending', 'leased') RETURNING id`,
      )
      counts.written += written.length
    } catch (error) {
      if (/** @type {any} */ (error).code !== '40P01') throw error
      counts.deadlocks++
    }
  }
}

const busy = writing()
createInterface({ input: process.stdin }).on('line', async (text) => {
  if (!JSON.parse(text).calm) return
  calm = true
  await busy
  say({ calmed: true, counts })
  process.exit(0)
})
say({ ready: true })
