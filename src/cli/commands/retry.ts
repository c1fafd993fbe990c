import type { Command } from 'commander'
import { retryInstance } from '../../operations/instances/change.ts'
import { instanceWire } from '../../wire/instance.ts'
import { openEffectWire } from '../../wire/saga.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import { harmless } from '../terminal/terminal.ts'

interface RetryOptions extends Shared {
  readonly input?: string
  readonly key?: string
}

export function defineRetry(program: Command): void {
  const command = program
    .command('retry')
    .argument('<id>', 'an instance that did not complete')
    .description('start a new instance that adopts what a failed one finished')
    .option('--input <json>', 'instead of its input: JSON, @FILE, or - for standard input')
    .option('--key <key>', 'start key: repeating the retry answers with the same instance')
  jsonOption(storeOptions(command)).action(
    act<RetryOptions, readonly [string]>((terminal, options, id) => {
      const given = options.input
      const example = `for example --input '{"order": 1}' or --input @order.json`
      const input = given === undefined ? {} : { input: jsonArgument(given, '--input', example) }
      return withOperations(options, async (perform) => {
        const key = options.key === undefined ? {} : { startKey: options.key }
        const made = await perform(retryInstance, { id, ...input, ...key })
        if (terminal.json) {
          const left = made.open.length === 0 ? {} : { not_undone: made.open.map(openEffectWire) }
          const instance = instanceWire(made.row)
          terminal.data({ id: made.id, created: made.created, retry_of: id, ...left, instance })
        } else {
          for (const { name, stepId } of made.open) terminal.print(`not undone: ${harmless(name)} (step ${stepId})`)
          terminal.print(`instance ${made.id} continues where ${id} stopped; \`petrel watch ${made.id}\` follows it`)
        }
        return EXIT.ok
      })
    }),
  )
}
