/** Step keys in a table of the service's own Postgres. */
import {
  answerFrom,
  checkTable,
  DEFAULT_TABLE,
  EffectFailed,
  type Once,
  type StepAnswer,
  type StepKeys,
} from './keys.ts'

/** The required part of a `pg` client. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: { readonly [column: string]: unknown }[] }>
}

/** The required part of a `pg` pool. */
export interface SqlPool<Client extends SqlClient = SqlClient> {
  connect(): Promise<Client & { release(destroy?: boolean): void }>
}

export function postgresKeys<Client extends SqlClient>(options: {
  readonly pool: SqlPool<Client>
  /** Default petrel_step; created if it does not exist. */
  readonly table?: string
}): StepKeys<Client> {
  const { pool } = options
  const table = checkTable(options.table ?? DEFAULT_TABLE)
  let made: Promise<void> | null = null

  /** If the table could not be created, the next call tries again. */
  function ready(): Promise<void> {
    made ??= withClient(pool, (client) => makeTable(client, table)).catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }

  return {
    async once(stepId, effect) {
      await ready()
      return withClient(pool, (client) => once(client, table, stepId, effect))
    },
    async answer(stepId, answer) {
      await ready()
      await withClient(pool, (client) =>
        answer === null
          ? client.query(`DELETE FROM ${table} WHERE step_id = $1`, [stepId])
          : client.query(`UPDATE ${table} SET answer = $2 WHERE step_id = $1`, [stepId, JSON.stringify(answer)]),
      )
    },
  }
}

/**
 * The key comes first: a second transaction with the same key waits at its INSERT until the first has committed, and
 * then inserts nothing, or until the first has failed, and then takes its place.
 */
async function once<Client extends SqlClient>(
  client: Client,
  table: string,
  stepId: string,
  effect: (tx: Client) => StepAnswer | Promise<StepAnswer>,
): Promise<Once> {
  await client.query('BEGIN')
  const taken = `INSERT INTO ${table} (step_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING step_id`
  const { rows } = await client.query(taken, [stepId])
  if (rows.length === 0) {
    const before = await client.query(`SELECT answer FROM ${table} WHERE step_id = $1`, [stepId])
    await client.query('COMMIT')
    return { answer: answerFrom(before.rows[0]?.['answer']), repeated: true }
  }
  let answer: StepAnswer
  try {
    answer = await effect(client)
  } catch (error) {
    await client.query('ROLLBACK')
    throw new EffectFailed(error)
  }
  await client.query(`UPDATE ${table} SET answer = $2 WHERE step_id = $1`, [stepId, JSON.stringify(answer)])
  await client.query('COMMIT')
  return { answer, repeated: false }
}

async function withClient<Client extends SqlClient, T>(
  pool: SqlPool<Client>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    const result = await work(client)
    broken = false
    return result
  } catch (error) {
    // The transaction was rolled back, so the client can be used again.
    broken = !(error instanceof EffectFailed)
    throw error
  } finally {
    // Otherwise it may be in the middle of a transaction.
    client.release(broken)
  }
}

/** Two processes that create it at once would conflict in the catalog. */
async function makeTable(client: SqlClient, table: string): Promise<void> {
  await client.query('BEGIN')
  await client.query(`SELECT pg_advisory_xact_lock(hashtext($1))`, [`petrel ${table}`])
  await client.query(`CREATE TABLE IF NOT EXISTS ${table} (
    step_id uuid PRIMARY KEY,
    answer text,
    done_at timestamptz NOT NULL DEFAULT now()
  )`)
  await client.query('COMMIT')
}
