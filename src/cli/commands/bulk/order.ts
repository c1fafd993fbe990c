/** bulk cancel | roll-back | retry | redrive | delete | dismiss: shows what would be changed, asks, and orders it. */
import { createInterface } from 'node:readline/promises'
import { type Command, Option } from 'commander'
import type { Action } from '../../../model/bulk/rows.ts'
import { orderBulkOperation, type Preview, previewBulkOperation } from '../../../operations/bulk/orders.ts'
import type { Perform } from '../../../operations/operation.ts'
import { operationWire, previewWire } from '../../../wire/bulk/operation.ts'
import { correct, number } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { ago, brief, instanceState, paintState, runState } from '../../terminal/words.ts'
import { followOperation } from './follow.ts'

export interface OrderOptions extends Shared {
  readonly runs?: boolean
  readonly rate?: number
  readonly reason?: string
  readonly confirm?: string
  readonly timeouts?: 'stop' | 'run'
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly follow?: boolean
}

export interface OrderCommand {
  readonly name: string
  readonly action: Action
  readonly description: string
  /** Of what it changes, if that is not a choice. */
  readonly only?: 'instances' | 'runs'
}

export const ORDER_COMMANDS: readonly OrderCommand[] = [
  { name: 'cancel', action: 'cancel', description: 'cancel instances, or runs with --runs' },
  {
    name: 'roll-back',
    action: 'roll_back',
    description: 'undo what instances have completed, and end them',
    only: 'instances',
  },
  {
    name: 'retry',
    action: 'retry',
    description: 'start new instances that adopt what failed ones finished',
    only: 'instances',
  },
  {
    name: 'pause',
    action: 'pause',
    description: 'begin nothing new in instances; active work ends',
    only: 'instances',
  },
  { name: 'redrive', action: 'redrive', description: 'run ended runs again, from their first attempt', only: 'runs' },
  {
    name: 'delete',
    action: 'delete',
    description: 'remove ended instances with everything that belongs to them; with --runs: hide runs',
  },
  { name: 'dismiss', action: 'dismiss', description: 'remove dead letters for good', only: 'runs' },
]

export function defineOrder(bulk: Command, { name, action, description, only }: OrderCommand): void {
  const command = bulk
    .command(name)
    .argument('<query>', "a search: 'state:failed name:order*'")
    .description(description)
  if (action === 'pause') {
    const what = 'stop: deadlines and delays stand still (default); run: they run on'
    command.addOption(new Option('--timeouts <what>', what).choices(['stop', 'run']))
  }
  orderOptions(only === undefined ? command.option('--runs', 'the search is for runs') : command).action(
    act<OrderOptions, readonly [string]>((terminal, options, query) =>
      order(terminal, options, { action, query, target: only ?? (options.runs === true ? 'runs' : 'instances') }),
    ),
  )
}

export function orderOptions(command: Command): Command {
  const options = command
    .option('--rate <n>', 'at most so many per minute', number('rate'))
    .option('--reason <text>', 'why; shown with the operation')
    .option('--dry-run', 'only show what would be changed')
    .option('--yes', 'do not ask')
    .option('--confirm <word>', '"everything": needed if the query is empty')
    .option('--follow', 'carry it out in this process too, and show its progress until it ends')
  return jsonOption(storeOptions(options))
}

interface Ordered {
  readonly action: Action
  readonly target: 'instances' | 'runs'
  readonly query: string
}

export function order(terminal: Terminal, options: OrderOptions, asked: Ordered): Promise<number> {
  const work = (perform: Perform): Promise<number> => orderWith(perform, terminal, options, asked)
  return correct('bulk', () => withOperations(options, work, { sweep: options.follow === true }))
}

async function orderWith(perform: Perform, terminal: Terminal, options: OrderOptions, asked: Ordered): Promise<number> {
  const { rate = null, reason = null, confirm = null, timeouts = null, dryRun, yes, follow } = options
  const preview = yes === true && dryRun !== true ? null : await perform(previewBulkOperation, asked)
  if (dryRun === true) {
    show(terminal, preview as Preview)
    return EXIT.ok
  }
  if (preview !== null && !(await agreed(terminal, preview))) {
    terminal.print('nothing was changed')
    return EXIT.ok
  }
  const meant = confirm ?? (preview?.everything === true ? 'everything' : null)
  const ordered = await perform(orderBulkOperation, { ...asked, rate, reason, timeouts, confirm: meant })
  if (follow === true) return followOperation(perform, terminal, ordered.id)
  if (terminal.json) terminal.data({ operation: operationWire(ordered) })
  else {
    terminal.print(`bulk operation ${ordered.id} is stored; a server carries it out`)
    terminal.print(terminal.paint('dim', `petrel bulk follow ${ordered.id}`))
  }
  return EXIT.ok
}

function show(terminal: Terminal, preview: Preview): void {
  if (terminal.json) return terminal.data({ preview: previewWire(preview) })
  const { action, target, count, more, instances, runs, refusals, examined } = preview
  const things = count === 1 ? target.slice(0, -1) : target
  terminal.print(`${action.replace('_', ' ')} ${count}${more ? '+' : ''} ${things}`)
  const now = Date.now()
  for (const row of instances) {
    terminal.print(
      `  ${row.id}  ${brief(row.name, 40)}  ${paintState(terminal, instanceState(row))}  ${ago(row.createdAt, now)}`,
    )
  }
  for (const row of runs) {
    terminal.print(
      `  ${row.id}  ${brief(row.type, 40)}  ${paintState(terminal, runState(row, now))}  ${ago(row.createdAt, now)}`,
    )
  }
  const shown = instances.length + runs.length
  if (count > shown) terminal.print(`  … and ${count - shown}${more ? ' or more' : ''} others`)
  for (const { reason, count: refused } of refusals) {
    const among = examined < count ? ` of the newest ${examined}` : ''
    terminal.print(terminal.paint('yellow', `  ${refused}${among} would be refused: ${reason}`))
  }
}

async function agreed(terminal: Terminal, preview: Preview): Promise<boolean> {
  const { count, everything, target } = preview
  if (count === 0) return false
  if (!terminal.live || process.stdin.isTTY !== true) {
    const hint = everything ? 'add --yes --confirm everything' : 'add --yes, or --dry-run for the preview alone'
    throw new CliError('invalid_request', `this would change ${count} ${target}, and there is no terminal to ask`, hint)
  }
  show(terminal, preview)
  const word = everything ? 'everything' : 'yes'
  const asking = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await asking.question(
      everything ? 'This is everything. Type everything to go on: ' : 'Go on? (yes) ',
    )
    return answer.trim() === word || (!everything && answer.trim() === 'y')
  } finally {
    asking.close()
  }
}
