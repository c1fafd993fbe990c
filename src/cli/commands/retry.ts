/** retry, fork, retry-now: instances that repeat an ended one, and waits that are cut short. */
import type { Command } from 'commander'
import { AGAIN_WHY, type Preview, type RepeatAsked, type StepChoice } from '../../model/queries/repeats.ts'
import { forkInstance, previewRepeat, retryInstance, retryInstanceNow } from '../../operations/instances/repeat.ts'
import type { Perform } from '../../operations/operation.ts'
import { retryRunNow } from '../../operations/runs/change.ts'
import { instanceWire } from '../../wire/instance.ts'
import { MOST_PREVIEWED, previewWire, repeatedWire } from '../../wire/requests/repeat.ts'
import { runWire } from '../../wire/run.ts'
import { isRun } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { clock } from '../terminal/words.ts'

interface RepeatOptions extends Shared {
  readonly from?: string
  readonly args?: string
  readonly patch?: string
  readonly input?: string
  readonly key?: string
  readonly dryRun?: boolean
  readonly after?: string
  readonly limit: number
}

export function defineRetry(program: Command): void {
  const command = program
    .command('retry')
    .argument('<id>', 'an instance that did not complete')
    .description('start a new instance that adopts what a failed one finished')
  defineRepeat(command, retryInstance, false)
}

export function defineFork(program: Command): void {
  const command = program
    .command('fork')
    .argument('<id>', 'an instance that has ended')
    .description('start a copy of an ended instance, from the beginning or from a step')
  defineRepeat(command, forkInstance, true)
}

function defineRepeat(command: Command, repeat: typeof retryInstance, fork: boolean): void {
  command
    .option('--from <place>', 'do this step and what follows from it again: STEP, STEP#FIRING, STEP#FIRING/ITEM')
    .option('--args <json>', 'the arguments at that place: JSON, @FILE, or - for standard input')
    .option('--patch <json>', 'the same, merged into the arguments it had; null removes a key')
    .option('--input <json>', 'instead of its input: JSON, @FILE, or - for standard input')
    .option('--key <key>', 'start key: repeating the command answers with the same instance')
    .option('--dry-run', 'only list what would be done again and what carried over')
    .option('--limit <n>', 'of a dry run: how many steps', wholeNumber(1, 'limit'), 50)
    .option('--after <place>', 'of a dry run: the next page, as printed by the page before')
  jsonOption(storeOptions(command)).action(
    act<RepeatOptions, readonly [string]>((terminal, options, id) => {
      const asked = { id, ...repeatOf(options) }
      return withOperations(options, async (perform) => {
        if (options.dryRun === true) await preview(terminal, perform, { ...asked, fork }, options)
        else {
          const key = options.key === undefined ? {} : { startKey: options.key }
          const made = await perform(repeat, { ...asked, ...key })
          if (terminal.json) terminal.data(repeatedWire(made))
          else {
            for (const { name, stepId } of made.open) terminal.print(`not undone: ${harmless(name)} (step ${stepId})`)
            const what = fork ? `is a fork of ${made.of}` : `continues where ${made.of} stopped`
            const did = options.from === undefined || fork ? what : `goes back to ${options.from} of ${id}`
            terminal.print(`instance ${made.id} ${did}; \`petrel watch ${made.id}\` follows it`)
          }
        }
        return EXIT.ok
      })
    }),
  )
}

function repeatOf({ from, args, patch, input }: RepeatOptions): Omit<RepeatAsked, 'id' | 'fork'> {
  const json = (given: string, name: string): { readonly value: ReturnType<typeof jsonArgument> } => ({
    value: jsonArgument(given, name, `for example ${name} '{"order": 1}' or ${name} @order.json`),
  })
  return {
    ...(from === undefined ? {} : { from: placeOf(from) }),
    ...(args === undefined ? {} : { args: json(args, '--args').value }),
    ...(patch === undefined ? {} : { patch: json(patch, '--patch').value }),
    ...(input === undefined ? {} : { input: json(input, '--input').value }),
  }
}

const PLACE = /^(.+?)(?:#(\d{1,6}))?(?:\/(\d{1,9}))?$/

export function placeOf(text: string): StepChoice {
  const [, step, firing, item] = PLACE.exec(text) ?? []
  if (step === undefined || firing === '0') {
    throw new CliError(
      'invalid_request',
      `--from: '${text}' is not a place`,
      'for example charge, charge#2 for its second firing, or render#1/17 for an item of a list',
    )
  }
  return {
    step,
    ...(firing === undefined ? {} : { firing: Number(firing) }),
    ...(item === undefined ? {} : { item: Number(item) }),
  }
}

async function preview(
  terminal: Terminal,
  perform: Perform,
  asked: RepeatAsked,
  { after, limit }: RepeatOptions,
): Promise<void> {
  const page = { limit: Math.min(limit, MOST_PREVIEWED), ...(after === undefined ? {} : { after }) }
  const found = await perform(previewRepeat, { ...asked, ...page })
  if (terminal.json) return terminal.data(previewWire(found))
  const { again, carried, next } = found
  terminal.table(
    [{ title: 'STEP' }, { title: 'WORK', align: 'right' }, { title: 'WHAT' }, { title: 'WHY' }],
    [
      ...again.map((line) => [harmless(line.step), countOf(line), 'again', AGAIN_WHY[line.why]]),
      ...carried.map((line) => [harmless(line.step), countOf(line), 'carried over', '']),
    ],
  )
  terminal.print('nothing has been started')
  if (next !== null) terminal.print(terminal.paint('dim', `more: --after ${next}`))
}

function countOf({ count, atLeast }: Preview['carried'][number]): string {
  return `${count}${atLeast ? '+' : ''}`
}

export function defineRetryNow(program: Command): void {
  const command = program
    .command('retry-now')
    .argument('<id>', 'a run that waits for its time, or an instance with such runs')
    .description('cut waits short: what is due later, or waits between two attempts, is due at once')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        if (await isRun(perform, id)) {
          const run = await perform(retryRunNow, { id })
          if (terminal.json) terminal.data({ run: runWire(run) })
          else terminal.print(`run ${id} (${run.type}) is due since ${clock(run.runAt)}`)
        } else {
          const { count, row } = await perform(retryInstanceNow, { id })
          if (terminal.json) terminal.data({ count, instance: instanceWire(row) })
          else terminal.print(`${count} ${count === 1 ? 'run' : 'runs'} of ${row.name} ${id} due now`)
        }
        return EXIT.ok
      }),
    ),
  )
}
