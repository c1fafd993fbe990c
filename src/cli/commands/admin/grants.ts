import type { Command } from 'commander'
import { act, jsonOption, type Shared } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'

export function defineGrants(program: Command): void {
  const command = program
    .command('grants')
    .argument('<role>', 'a role of the database, which must exist')
    .description('print the SQL that lets a Postgres role use the inbox, and nothing else')
  jsonOption(command).action(
    act<Shared, readonly [string]>(async (terminal, _, role) => {
      const sql = await sqlFor(role)
      if (terminal.json) terminal.data({ role, sql })
      else terminal.print(sql.trimEnd())
      return EXIT.ok
    }),
  )
}

async function sqlFor(role: string): Promise<string> {
  const { grantsFor } = await import('../../../store/open.ts')
  try {
    return await grantsFor(role)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new CliError('invalid_request', error.message, 'for example: petrel grants worker | psql DATABASE', { role })
  }
}
