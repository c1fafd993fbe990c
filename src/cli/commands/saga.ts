/** saga ls | show | retry | cancel | refused: workflows across services, in the terms of sagas. */
import { type Command, Option } from 'commander'
import type { RefusedRow } from '../../model/commands.ts'
import {
  type OpenEffect,
  SAGA_STATES,
  type SagaRow,
  type SagaState,
  type SagaStepRow,
  type SagaView,
} from '../../model/sagas.ts'
import { storeTime } from '../../operations/clock.ts'
import { cancelSaga, listRefused, listSagas, retrySaga, showSaga } from '../../operations/sagas/sagas.ts'
import { span } from '../../views/words.ts'
import { refusedWire, sagaViewWire, sagaWire } from '../../wire/saga.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { ago, brief, clock, paintState } from '../terminal/words.ts'

interface ListOptions extends Shared {
  readonly state?: SagaState
  readonly type?: string
  readonly limit: number
  readonly before?: string
}

interface RefusedOptions extends Shared {
  readonly limit: number
}

export function defineSaga(program: Command): void {
  const saga = program.command('saga').description('workflows across services: ls, show, retry, cancel, refused')
  defineLs(saga)
  defineShow(saga)
  defineChange(saga, 'retry', 'resume a stopped saga at the step or compensation that failed, under the same step id')
  defineChange(saga, 'cancel', 'send nothing further, and undo what was done')
  defineRefused(saga)
}

function defineLs(saga: Command): void {
  const ls = saga
    .command('ls', { isDefault: true })
    .description('list sagas, newest first')
    .addOption(new Option('--state <state>', 'only in this state').choices(SAGA_STATES))
    .option('--type <name>', 'only of this name')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <id>', 'older than this one')
  jsonOption(storeOptions(ls)).action(
    act<ListOptions>((terminal, options) =>
      withOperations(options, async (perform) => {
        const { state = null, type = null, limit, before = null } = options
        const { rows, more } = await perform(listSagas, { state, type, limit, before })
        if (terminal.json) terminal.data({ sagas: rows.map(sagaWire) })
        else if (rows.length === 0) terminal.print('no sagas')
        else list(terminal, rows, await perform(storeTime, null))
        if (!terminal.json && more) {
          terminal.print(terminal.paint('dim', `older ones: --before ${rows.at(-1)?.id}`))
        }
        return EXIT.ok
      }),
    ),
  )
}

function list(terminal: Terminal, rows: readonly SagaRow[], now: number): void {
  terminal.table(
    [
      { title: 'ID' },
      { title: 'TYPE' },
      { title: 'STATE' },
      { title: 'STEP', align: 'right' },
      { title: 'CREATED' },
      { title: 'TOOK' },
      { title: 'ERROR' },
    ],
    rows.map((row) => [
      row.id,
      harmless(row.type),
      paintState(terminal, row.state),
      `${row.currentStepIndex}/${row.stepCount}`,
      ago(row.createdAt, now),
      row.completedAt === null ? '' : span(row.completedAt - row.createdAt),
      brief(row.error ?? ''),
    ]),
  )
}

function defineShow(saga: Command): void {
  const show = saga.command('show').argument('<id>', 'a saga').description('one saga: its steps, commands and answers')
  jsonOption(storeOptions(show)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        print(terminal, await perform(showSaga, { id }))
        return EXIT.ok
      }),
    ),
  )
}

function defineChange(saga: Command, verb: 'retry' | 'cancel', description: string): void {
  const command = saga.command(verb).argument('<id>', 'a saga').description(description)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        print(terminal, await perform(verb === 'retry' ? retrySaga : cancelSaga, { id }))
        return EXIT.ok
      }),
    ),
  )
}

function print(terminal: Terminal, view: SagaView): void {
  if (terminal.json) return terminal.data(sagaViewWire(view))
  const { saga, steps, open } = view
  terminal.print(
    `${terminal.paint('bold', harmless(saga.type))} ${saga.id}  ${paintState(terminal, saga.state)}  step ${saga.currentStepIndex} of ${saga.stepCount}`,
  )
  const ended =
    saga.completedAt === null
      ? ''
      : `, ended ${clock(saga.completedAt)} after ${span(saga.completedAt - saga.createdAt)}`
  terminal.print(
    `started ${clock(saga.createdAt)}${saga.createdBy === null ? '' : ` by ${harmless(saga.createdBy)}`}${ended}`,
  )
  if (saga.error !== null) terminal.print(terminal.paint('red', harmless(saga.error)))
  terminal.print()
  terminal.table(
    [
      { title: '#', align: 'right' },
      { title: 'STEP' },
      { title: 'STATE' },
      { title: 'SUBJECT' },
      { title: 'SENT' },
      { title: 'ANSWER' },
    ],
    steps.map((step) => [
      String(step.stepIndex),
      harmless(step.stepIndex < 0 ? `undo ${step.name}` : step.name),
      paintState(terminal, step.state),
      harmless(step.commandSubject),
      sent(step),
      brief(step.error ?? step.responseJson ?? ''),
    ]),
  )
  if (open.length > 0) terminal.print()
  for (const { name, reason } of open) terminal.print(`${harmless(name)}: ${OPEN[reason]}`)
  if (saga.state === 'failed')
    terminal.print(`\n${terminal.paint('dim', `petrel saga retry ${saga.id} resumes where it stopped`)}`)
}

const OPEN: { readonly [reason in OpenEffect['reason']]: string } = {
  undo_failed: 'done, and its compensation did not succeed',
  not_undone: 'done, and its compensation was not sent',
  in_doubt: 'did not answer; whether it was done is not known',
}

function sent({ commandSubject, commandPublishedAt }: SagaStepRow): string {
  if (commandPublishedAt !== null) return clock(commandPublishedAt)
  return commandSubject === '' ? '' : 'not yet'
}

function defineRefused(saga: Command): void {
  const refused = saga
    .command('refused')
    .description('messages on NATS that were refused, newest first')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
  jsonOption(storeOptions(refused)).action(
    act<RefusedOptions>((terminal, options) =>
      withOperations(options, async (perform) => {
        const { rows } = await perform(listRefused, { limit: options.limit, before: null })
        if (terminal.json) terminal.data({ messages: rows.map(refusedWire) })
        else if (rows.length === 0) terminal.print('no message was refused')
        else printRefused(terminal, rows)
        return EXIT.ok
      }),
    ),
  )
}

function printRefused(terminal: Terminal, rows: readonly RefusedRow[]): void {
  terminal.table(
    [{ title: 'AT' }, { title: 'SUBJECT' }, { title: 'CODE' }, { title: 'WHAT' }, { title: 'BODY' }],
    rows.map((row) => [clock(row.at), harmless(row.subject), row.code, brief(row.message), brief(row.body)]),
  )
}
