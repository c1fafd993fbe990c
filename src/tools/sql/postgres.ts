/** Statements in a Postgres database. */
import { enveloped } from '../envelope.ts'
import { checkFields, type FieldTable } from '../fields.ts'
import { checkTimeout } from '../timeout.ts'
import type { Tool } from '../tool.ts'
import { CONNECTION_FIELDS, checkConnection } from './postgres-connection.ts'
import type { PostgresOptions } from './postgres-session.ts'
import { checkStatement, STATEMENT_FIELDS } from './statement.ts'

const FIELDS: FieldTable = { ...CONNECTION_FIELDS, ...STATEMENT_FIELDS }

export function postgresTool(options: PostgresOptions): Tool {
  return {
    kind: 'postgres',
    check: (config) => [
      ...checkFields(config, FIELDS),
      ...checkConnection(config),
      ...checkStatement(config),
      ...checkTimeout(config),
    ],
    run: (call) =>
      enveloped(async () => {
        const { runStatement } = await import('./postgres-session.ts')
        return runStatement(call, options)
      }),
  }
}
