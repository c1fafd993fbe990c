/** bulk: one action on everything that a search finds; and ls | show | items | stop | resume | rate | follow. */
import { type Command, Option } from 'commander'
import { readId } from '../../../kernel/ids.ts'
import { ITEM_STATES, OPERATION_STATES, type Operation, type OperationState } from '../../../model/bulk/rows.ts'
import { paceBulkOperation, resumeBulkOperation, stopBulkOperation } from '../../../operations/bulk/change.ts'
import { listBulkItems, listBulkOperations, showBulkOperation } from '../../../operations/bulk/look.ts'
import type { Perform } from '../../../operations/operation.ts'
import { itemWire, operationWire } from '../../../wire/bulk/operation.ts'
import { correct, hinting, number } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { ago, brief, clock, paintState } from '../../terminal/words.ts'
import { followOperation, progressLine } from './follow.ts'
import { defineOrder, ORDER_COMMANDS, type OrderOptions, order, orderOptions } from './order.ts'

export function defineBulk(program: Command): void {
  const bulk = program
    .command('bulk')
    .description('one action on everything that a search finds; ls, show, items, stop …')
  for (const order of ORDER_COMMANDS) defineOrder(bulk, order)
  defineLs(bulk)
  defineItems(bulk)
  one(bulk, 'show', 'show a bulk operation and its progress', (perform, id) => perform(showBulkOperation, { id }))
  one(bulk, 'stop', 'begin no further item; what is being changed ends', (perform, id) =>
    perform(stopBulkOperation, { id }),
  )
  defineResume(bulk)
  defineRate(bulk)
  defineFollow(bulk)
}

interface LsOptions extends Shared {
  readonly state?: string
  readonly limit: number
  readonly before?: string
}

function defineLs(bulk: Command): void {
  const ls = bulk
    .command('ls', { isDefault: true })
    .description('list bulk operations, newest first')
    .option('--state <states>', `one or more, by comma: ${OPERATION_STATES.join(', ')}`)
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <id>', 'older than this one')
  jsonOption(storeOptions(ls)).action(
    act<LsOptions>(async (terminal, options) => {
      const { limit, before = null } = options
      const states = statesOf(options.state)
      const { rows, more } = await withOperations(options, (perform) =>
        perform(listBulkOperations, { states, limit, before }),
      )
      if (terminal.json)
        terminal.data({ operations: rows.map(operationWire), next_before: more ? rows.at(-1)?.id : null })
      else if (rows.length === 0) terminal.print('no bulk operations')
      else {
        table(terminal, rows)
        if (more) terminal.print(terminal.paint('dim', `older ones: --before ${rows.at(-1)?.id}`))
      }
      return EXIT.ok
    }),
  )
}

function statesOf(text: string | undefined): readonly OperationState[] | null {
  if (text === undefined) return null
  const states = text.split(',').map((state) => state.trim())
  const wrong = states.find((state) => !(OPERATION_STATES as readonly string[]).includes(state))
  if (wrong === undefined) return states as OperationState[]
  throw new CliError('invalid_request', `there is no state '${wrong}'`, `states: ${OPERATION_STATES.join(', ')}`)
}

function table(terminal: Terminal, rows: readonly Operation[]): void {
  const now = Date.now()
  terminal.table(
    [
      { title: 'OPERATION' },
      { title: 'ACTION' },
      { title: 'STATE' },
      { title: 'DONE', align: 'right' },
      { title: 'REFUSED', align: 'right' },
      { title: 'PENDING', align: 'right' },
      { title: 'BY' },
      { title: 'ORDERED' },
      { title: 'QUERY' },
    ],
    rows.map((row) => [
      row.id,
      `${row.action.replace('_', ' ')} ${row.target}`,
      paintState(terminal, row.state),
      String(row.succeeded),
      String(row.refused + row.failed),
      String(row.pending),
      brief(row.actor ?? '', 20),
      ago(row.createdAt, now),
      brief(row.query, 60),
    ]),
  )
}

interface ItemsOptions extends Shared {
  readonly state?: (typeof ITEM_STATES)[number]
  readonly limit: number
  readonly before?: string
}

function defineItems(bulk: Command): void {
  const items = bulk
    .command('items')
    .argument('<id>', 'a bulk operation')
    .description('its items with their results')
    .addOption(new Option('--state <state>', 'only with this result').choices(ITEM_STATES))
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 100)
    .option('--before <id>', 'after this item in the list')
  jsonOption(storeOptions(items)).action(
    act<ItemsOptions, readonly [string]>(async (terminal, options, id) => {
      const { state = null, limit, before = null } = options
      const { rows, more } = await hinted(
        withOperations(options, (perform) => perform(listBulkItems, { id, state, limit, before })),
      )
      if (terminal.json) terminal.data({ items: rows.map(itemWire), next_before: more ? rows.at(-1)?.itemId : null })
      else if (rows.length === 0) terminal.print('no items')
      else {
        terminal.table(
          [{ title: 'ITEM' }, { title: 'RESULT' }, { title: 'NEW' }, { title: 'CODE' }, { title: 'WHY' }],
          rows.map((row) => [
            row.itemId,
            paintState(terminal, row.state),
            row.newId ?? '',
            row.code ?? '',
            brief(row.message ?? '', 100),
          ]),
        )
        if (more) terminal.print(terminal.paint('dim', `more: --before ${rows.at(-1)?.itemId}`))
      }
      return EXIT.ok
    }),
  )
}

type Change = (perform: Perform, id: string) => Promise<Operation>

function one(bulk: Command, name: string, description: string, change: Change): void {
  const command = bulk.command(name).argument('<id>', 'a bulk operation').description(description)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>(async (terminal, options, id) => {
      show(terminal, await hinted(withOperations(options, (perform) => change(perform, id))))
      return EXIT.ok
    }),
  )
}

/** An id is no query, and no query is an id. */
function defineResume(bulk: Command): void {
  const command = bulk
    .command('resume')
    .argument('<what>', 'a bulk operation that was stopped, or a search for paused instances')
    .description('continue a stopped bulk operation; or resume paused instances')
  orderOptions(command).action(
    act<OrderOptions, readonly [string]>(async (terminal, options, what) => {
      if (readId(what) === null) return order(terminal, options, { action: 'resume', query: what, target: 'instances' })
      show(terminal, await hinted(withOperations(options, (perform) => perform(resumeBulkOperation, { id: what }))))
      return EXIT.ok
    }),
  )
}

function defineRate(bulk: Command): void {
  const rate = bulk
    .command('rate')
    .argument('<id>', 'a bulk operation')
    .argument('<n>', 'items per minute, or none', (text) => (text === 'none' ? null : number('the rate')(text)))
    .description('change how many items it may change per minute')
  jsonOption(storeOptions(rate)).action(
    act<Shared, readonly [string, number | null]>(async (terminal, options, id, perMinute) => {
      const change = withOperations(options, (perform) => perform(paceBulkOperation, { id, rate: perMinute }))
      show(terminal, await correct('bulk rate', () => hinted(change)))
      return EXIT.ok
    }),
  )
}

function defineFollow(bulk: Command): void {
  const follow = bulk
    .command('follow')
    .argument('<id>', 'a bulk operation')
    .description('carry it out in this process too, and show its progress until it ends')
  jsonOption(storeOptions(follow)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      hinted(withOperations(options, (perform) => followOperation(perform, terminal, id), { sweep: true })),
    ),
  )
}

function show(terminal: Terminal, row: Operation): void {
  if (terminal.json) return terminal.data({ operation: operationWire(row) })
  terminal.print(progressLine(terminal, row))
  const lines: readonly (readonly [string, string | null])[] = [
    ['id', row.id],
    ['query', row.query === '' ? '(everything)' : row.query],
    ['reason', row.reason],
    ['by', row.actor],
    ['tenant', row.tenant],
    ['rate', row.rate === null ? null : `${row.rate} per minute`],
    ['ordered', clock(row.createdAt)],
    ['ended', row.endedAt === null ? null : clock(row.endedAt)],
  ]
  for (const [name, value] of lines) if (value !== null) terminal.print(`${name.padEnd(8)} ${brief(value, 600)}`)
}

function hinted<T>(work: Promise<T>): Promise<T> {
  return hinting('`petrel bulk ls` lists them', work)
}
