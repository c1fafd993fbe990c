import { type Command, Option } from 'commander'
import { listInstances } from '../../operations/instances/look.ts'
import { span } from '../../views/words.ts'
import { instanceWire, STATES } from '../../wire/instance.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { ago, instanceState, paintState } from '../terminal/words.ts'

interface LsOptions extends Shared {
  readonly state?: string
  readonly name?: string
  readonly dialect?: string
  readonly limit: number
  readonly before?: string
  readonly all?: boolean
}

export function defineLs(program: Command): void {
  const command = program
    .command('ls')
    .description('list instances, newest first')
    .addOption(new Option('--state <states>', `one or more, by comma: ${STATES.join(', ')}`))
    .option('--name <name>', 'only instances of this name')
    .option('--dialect <dialect>', 'only instances of this notation')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <id>', 'older than this instance')
    .option('--all', 'children too, not only roots')
  jsonOption(storeOptions(command)).action(
    act<LsOptions>(async (terminal, options) => {
      const { rows } = await withOperations(options, (perform) =>
        perform(listInstances, {
          states: statesOf(options.state),
          name: options.name ?? null,
          dialect: options.dialect ?? null,
          rootsOnly: options.all !== true,
          limit: options.limit,
          before: options.before ?? null,
        }),
      )
      if (terminal.json) terminal.data({ instances: rows.map(instanceWire) })
      else if (rows.length === 0) terminal.print('no instances')
      else {
        const now = Date.now()
        terminal.table(
          [
            { title: 'ID' },
            { title: 'NAME' },
            { title: 'STATE' },
            { title: 'DONE', align: 'right' },
            { title: 'FAILED', align: 'right' },
            { title: 'CREATED' },
            { title: 'TOOK' },
          ],
          rows.map((row) => [
            row.id,
            row.name,
            paintState(terminal, instanceState(row)),
            String(row.succeeded),
            String(row.failed),
            ago(row.createdAt, now),
            row.endedAt === null ? '' : span(row.endedAt - row.createdAt),
          ]),
        )
        if (rows.length === options.limit)
          terminal.print(terminal.paint('dim', `older ones: --before ${rows.at(-1)?.id}`))
      }
      return EXIT.ok
    }),
  )
}

function statesOf(text: string | undefined): readonly string[] | null {
  if (text === undefined) return null
  const states = text.split(',').map((s) => s.trim())
  const wrong = states.find((s) => !(STATES as readonly string[]).includes(s))
  if (wrong !== undefined)
    throw new CliError('invalid_request', `there is no state '${wrong}'`, `states: ${STATES.join(', ')}`)
  return states
}
