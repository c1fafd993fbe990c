/** How Postgres executes a statement: the rows it reads, and the index it uses. */
import type pg from 'pg'
import type { Call } from '../../src/store/postgres/connection/statement.ts'
import type { PostgresSubject } from './postgres-subject.ts'

export interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

export interface Explained {
  readonly pages: number
  /** Rows of `workflow_run` and `workflow_instance` that were read, including discarded ones. */
  readonly touched: number
  readonly plan: readonly Plan[]
}

export class Planner {
  readonly #client: pg.Client
  readonly #prepared = new Set<string>()

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** A separate session with these settings; a statement keeps its plans there. */
  static async on(subject: PostgresSubject, settings: Readonly<Record<string, string>>): Promise<Planner> {
    const client = await subject.connect()
    for (const [key, value] of Object.entries(settings)) await client.query(`SET ${key} = '${value}'`)
    return new Planner(client)
  }

  /** Executes it in a transaction that is rolled back. */
  async explain({ statement: { name, text }, values }: Pick<Call, 'statement' | 'values'>): Promise<Explained> {
    if (!this.#prepared.has(name)) await this.#client.query(`PREPARE ${name} AS ${text}`)
    this.#prepared.add(name)
    const given = values.map((value) => (value === null ? 'NULL' : this.#client.escapeLiteral(String(value))))
    const execute = given.length === 0 ? name : `${name} (${given.join(', ')})`
    await this.#client.query('BEGIN')
    const answer = await this.#client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${execute}`)
    await this.#client.query('ROLLBACK')
    const top = answer.rows[0]['QUERY PLAN'][0].Plan as Plan
    const plan = nodes(top)
    const touched = plan
      .filter((node) => node['Relation Name'] === 'workflow_run' || node['Relation Name'] === 'workflow_instance')
      .reduce(
        (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      )
    return { pages: top['Shared Hit Blocks'] + top['Shared Read Blocks'], touched, plan }
  }
}

function nodes(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)]
}
