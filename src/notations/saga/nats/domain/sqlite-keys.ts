/** Step keys in a table of the service's own SQLite file. Effects are synchronous, like the database. */
import {
  answerFrom,
  checkTable,
  DEFAULT_TABLE,
  EffectFailed,
  type Once,
  type StepAnswer,
  type StepKeys,
} from './keys.ts'

/** The required part of `node:sqlite`, `@photostructure/sqlite` or `better-sqlite3`. */
export interface SyncDatabase {
  exec(sql: string): unknown
  prepare(sql: string): { get(...values: string[]): unknown; run(...values: string[]): unknown }
}

export function sqliteKeys<Database extends SyncDatabase>(options: {
  readonly database: Database
  /** Default petrel_step; created if it does not exist. */
  readonly table?: string
}): StepKeys<Database> {
  const { database } = options
  const table = checkTable(options.table ?? DEFAULT_TABLE)
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    step_id TEXT PRIMARY KEY, answer TEXT, done_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
  )`)
  return {
    async once(stepId, effect) {
      // Nothing else in this process can interfere: from BEGIN to COMMIT nothing is awaited.
      database.exec('BEGIN IMMEDIATE')
      try {
        const done = answered(database, table, stepId, effect)
        database.exec('COMMIT')
        return done
      } catch (error) {
        rollBack(database)
        throw error
      }
    },
    async answer(stepId, answer) {
      if (answer === null) database.prepare(`DELETE FROM ${table} WHERE step_id = ?`).run(stepId)
      else database.prepare(`UPDATE ${table} SET answer = ? WHERE step_id = ?`).run(JSON.stringify(answer), stepId)
    },
  }
}

/** When the disk is full, SQLite has already rolled back. */
function rollBack(database: SyncDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {}
}

function answered<Database extends SyncDatabase>(
  database: Database,
  table: string,
  stepId: string,
  effect: (tx: Database) => StepAnswer | Promise<StepAnswer>,
): Once {
  const before = database.prepare(`SELECT answer FROM ${table} WHERE step_id = ?`).get(stepId)
  if (before !== undefined) return { answer: answerFrom((before as { answer: unknown }).answer), repeated: true }
  const answer = attempt(database, effect)
  database.prepare(`INSERT INTO ${table} (step_id, answer) VALUES (?, ?)`).run(stepId, JSON.stringify(answer))
  return { answer, repeated: false }
}

function attempt<Database>(database: Database, effect: (tx: Database) => StepAnswer | Promise<StepAnswer>): StepAnswer {
  let answer: StepAnswer | Promise<StepAnswer>
  try {
    answer = effect(database)
  } catch (error) {
    throw new EffectFailed(error)
  }
  // The effect would continue after the transaction has ended.
  if (answer instanceof Promise) {
    answer.catch(() => {})
    throw new EffectFailed(new TypeError('an effect on SQLite is synchronous: it returns its answer, not a promise'))
  }
  return answer
}
