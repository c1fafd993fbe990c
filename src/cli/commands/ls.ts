import { type Command, Option } from 'commander'
import type { InstanceRow } from '../../model/rows.ts'
import { listInstances } from '../../operations/instances/look.ts'
import { countFoundInstances, findInstances } from '../../operations/search/search.ts'
import { span } from '../../views/words.ts'
import { instanceWire, STATES } from '../../wire/instance.ts'
import { countsWire } from '../../wire/requests/search.ts'
import { withOperations } from '../process/connect.ts'
import { pagesOf, printCounts, printEnd, refuseFilters } from '../search.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { ago, instanceState, paintState } from '../terminal/words.ts'

interface LsOptions extends Shared {
  readonly state?: string
  readonly name?: string
  readonly dialect?: string
  readonly limit: number
  readonly before?: string
  readonly all?: boolean
  readonly counts?: boolean
}

export function defineLs(program: Command): void {
  const command = program
    .command('ls')
    .argument('[query]', "filters: 'state:failed name:order* -tag:test age:>1h'")
    .description('list instances, newest first')
    .addOption(new Option('--state <states>', `one or more, by comma: ${STATES.join(', ')}`))
    .option('--name <name>', 'only instances of this name')
    .option('--dialect <dialect>', 'only instances of this notation')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <id>', 'older than this instance')
    .option('--all', 'children too, not only roots')
    .option('--counts', 'how many the query finds, by state')
  jsonOption(storeOptions(command)).action(
    act<LsOptions, readonly [string | undefined]>((terminal, options, query) => {
      if (options.counts === true) return count(terminal, options, query ?? '')
      return query === undefined ? list(terminal, options) : find(terminal, options, query)
    }),
  )
}

async function list(terminal: Terminal, options: LsOptions): Promise<number> {
  const filter = {
    states: statesOf(options.state),
    name: options.name ?? null,
    dialect: options.dialect ?? null,
    rootsOnly: options.all !== true,
  }
  const { rows, next } = await withOperations(options, (perform) =>
    pagesOf(options, (page) => perform(listInstances, { ...filter, ...page })),
  )
  return show(terminal, options, { rows, next })
}

async function find(terminal: Terminal, options: LsOptions, q: string): Promise<number> {
  refuseFilters(options, ['state', 'name', 'dialect'])
  const { rows, next } = await withOperations(options, (perform) =>
    pagesOf(options, (page) => perform(findInstances, { q, nested: options.all === true, ...page })),
  )
  return show(terminal, options, { rows, next })
}

function show(
  terminal: Terminal,
  options: LsOptions,
  { rows, next }: { readonly rows: readonly InstanceRow[]; readonly next: string | null },
): number {
  if (terminal.json) terminal.data({ instances: rows.map(instanceWire), next_before: next })
  else {
    if (rows.length > 0) table(terminal, rows)
    printEnd(terminal, { what: 'instances', found: rows.length, limit: options.limit, next })
  }
  return EXIT.ok
}

async function count(terminal: Terminal, options: LsOptions, q: string): Promise<number> {
  refuseFilters(options, ['state', 'name', 'dialect'])
  const counts = await withOperations(options, (perform) =>
    perform(countFoundInstances, { q, nested: options.all === true }),
  )
  if (terminal.json) terminal.data(countsWire(counts))
  else printCounts(terminal, counts, 'instances')
  return EXIT.ok
}

function table(terminal: Terminal, rows: readonly InstanceRow[]): void {
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
      `${paintState(terminal, instanceState(row))}${row.paused === null ? '' : terminal.paint('yellow', ' paused')}`,
      String(row.succeeded),
      String(row.failed),
      ago(row.createdAt, now),
      row.endedAt === null ? '' : span(row.endedAt - row.createdAt),
    ]),
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
