/** errors ls | show | resolve | ignore | reopen: failures for good, grouped by their cause. */
import { type Command, Option } from 'commander'
import type { ErrorGroupRow } from '../../model/errors/groups.ts'
import { changesOf, ERROR_GROUP_STATES, groupCursorText } from '../../model/errors/groups.ts'
import {
  ignoreErrorGroup,
  listErrorGroups,
  reopenErrorGroup,
  resolveErrorGroup,
  showErrorGroup,
} from '../../operations/errors/groups.ts'
import type { Perform } from '../../operations/operation.ts'
import { errorGroupsWire, errorGroupViewWire, errorGroupWire } from '../../wire/errors/group.ts'
import { readErrorGroupsQuery } from '../../wire/requests/error-groups.ts'
import { correct } from '../inbox.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { spanMs } from '../terminal/span.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { ago, brief, clock, paintState } from '../terminal/words.ts'

interface LsOptions extends Shared {
  readonly state?: string
  readonly limit: number
  readonly before?: string
}

interface StateOptions extends Shared {
  readonly reason?: string
  readonly times?: number
  readonly for?: number
}

export function defineErrors(program: Command): void {
  const errors = program.command('errors').description('failures by their cause: ls, show, resolve, ignore, reopen')
  defineLs(errors)
  const show = errors.command('show').argument('<fingerprint>', 'as errors ls prints it').description('one group')
  jsonOption(storeOptions(show)).action(
    act<Shared, readonly [string]>((terminal, options, fingerprint) =>
      withOperations(options, async (perform) => {
        const found = await perform(showErrorGroup, { fingerprint })
        if (terminal.json) terminal.data(errorGroupViewWire(found))
        else print(terminal, found.group)
        return EXIT.ok
      }),
    ),
  )
  change(errors, 'resolve', 'it is fixed; a failure after this opens it again', (perform, fingerprint, { reason }) =>
    perform(resolveErrorGroup, { fingerprint, reason: reason ?? null }),
  )
  change(errors, 'ignore', 'it is known: until it recurs so often, or for a time', (perform, fingerprint, options) =>
    perform(ignoreErrorGroup, {
      fingerprint,
      reason: options.reason ?? null,
      times: options.times ?? null,
      forMs: options.for ?? null,
    }),
  )
    .option('--times <n>', 'until it has recurred so many times', wholeNumber(1, 'times'))
    .addOption(new Option('--for <span>', 'for so long, such as 12h or 7d').argParser(spanMs))
  change(errors, 'reopen', 'it is open again', (perform, fingerprint, { reason }) =>
    perform(reopenErrorGroup, { fingerprint, reason: reason ?? null }),
  )
}

function defineLs(errors: Command): void {
  const ls = errors
    .command('ls', { isDefault: true })
    .argument('[text]', 'part of a type, a code, a step, a message or the name of a workflow')
    .description('list groups of failures, the most recent first')
    .option('--state <states>', `one or more, by comma: ${ERROR_GROUP_STATES.join(', ')}`)
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <place>', 'the start of the next page, as printed by the page before')
  jsonOption(storeOptions(ls)).action(
    act<LsOptions, readonly [string | undefined]>((terminal, { state, limit, before, ...options }, q) =>
      correct('errors ls', async () => {
        const query = readErrorGroupsQuery({ state, q, limit: String(limit), before })
        const page = await withOperations(options, (perform) => perform(listErrorGroups, query))
        if (terminal.json) terminal.data(errorGroupsWire(page))
        else {
          if (page.rows.length === 0) terminal.print('no errors')
          else table(terminal, page.rows)
          if (page.next !== null)
            terminal.print(terminal.paint('dim', `older ones: --before ${groupCursorText(page.next)}`))
        }
        return EXIT.ok
      }),
    ),
  )
}

type Change = (perform: Perform, fingerprint: string, options: StateOptions) => Promise<ErrorGroupRow>

function change(errors: Command, name: string, description: string, work: Change): Command {
  const command = errors
    .command(name)
    .argument('<fingerprint>', 'as errors ls prints it')
    .description(description)
    .option('--reason <text>', 'shown with the state')
  return jsonOption(storeOptions(command)).action(
    act<StateOptions, readonly [string]>((terminal, options, fingerprint) =>
      withOperations(options, async (perform) => {
        const group = await work(perform, fingerprint, options)
        if (terminal.json) terminal.data({ group: errorGroupWire(group) })
        else terminal.print(`${group.fingerprint} is ${stateText(terminal, group)}`)
        return EXIT.ok
      }),
    ),
  )
}

function table(terminal: Terminal, rows: readonly ErrorGroupRow[]): void {
  const now = Date.now()
  terminal.table(
    [
      { title: 'GROUP' },
      { title: 'STATE' },
      { title: 'COUNT', align: 'right' },
      { title: 'LAST' },
      { title: 'TYPE' },
      { title: 'CODE' },
      { title: 'MESSAGE' },
    ],
    rows.map((row) => [
      row.fingerprint,
      paintState(terminal, row.regressed ? 'regressed' : row.state),
      row.count.toLocaleString('en-US'),
      ago(row.lastAt, now),
      harmless(row.type),
      harmless(row.code),
      brief(harmless(row.message), 60),
    ]),
  )
}

function print(terminal: Terminal, group: ErrorGroupRow): void {
  const lines: readonly (readonly [string, string | null])[] = [
    ['code', group.code],
    ['step', group.node],
    ['count', `${group.count.toLocaleString('en-US')}, ${clock(group.firstAt)} to ${clock(group.lastAt)}`],
    ['workflows', group.definitions.length === 0 ? null : group.definitions.join(', ')],
    ['workers', group.workers.length === 0 ? null : group.workers.join(', ')],
    ['builds', group.builds.length === 0 ? null : group.builds.join(', ')],
    ['message', group.lastMessage],
    ['last run', group.lastRunId],
    ['instance', group.lastInstanceId],
    ['since', `${clock(group.stateAt)}${group.stateBy === null ? '' : ` by ${group.stateBy}`}`],
    ['reason', group.reason],
  ]
  terminal.print(`${terminal.paint('bold', harmless(group.type))}  ${stateText(terminal, group)}`)
  for (const [name, value] of lines)
    if (value !== null) terminal.print(`${name.padEnd(9)} ${brief(harmless(value), 600)}`)
  for (const { state, at, by, reason } of changesOf(group)) {
    const who = by === null ? 'by a failure' : `by ${harmless(by)}`
    terminal.print(`  ${clock(at)}  ${state} ${who}${reason === null ? '' : `: ${brief(harmless(reason), 200)}`}`)
  }
  terminal.print(
    terminal.paint('dim', `\`petrel ls 'group:${group.fingerprint}'\` finds its instances, \`petrel runs\` its runs`),
  )
}

function stateText(terminal: Terminal, { state, regressed, ignoredCount, ignoredUntil, count }: ErrorGroupRow): string {
  const word = paintState(terminal, state)
  if (regressed) return `${word}: it had been resolved`
  if (ignoredCount !== null) return `${word} until it has recurred ${ignoredCount - count} times`
  return ignoredUntil === null ? word : `${word} until ${clock(ignoredUntil)}`
}
