import type { Command } from 'commander'
import { openEffects } from '../../operations/saga-view.ts'
import { instanceWire } from '../../wire/instance.ts'
import { openEffectWire } from '../../wire/saga.ts'
import { actor, instanceView } from '../lookup.ts'
import { withEngine } from '../process/connect.ts'
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
      return withEngine(options, async (engine) => {
        await instanceView(engine, id)
        const key = options.key === undefined ? {} : { startKey: options.key }
        const open = await openEffects(engine, id)
        const made = await engine.retryInstance({ id, actor: actor(), ...input, ...key })
        if (terminal.json) {
          const { instance } = await instanceView(engine, made.id)
          const left = open.length === 0 ? {} : { not_undone: open.map(openEffectWire) }
          terminal.data({ id: made.id, created: made.created, retry_of: id, ...left, instance: instanceWire(instance) })
        } else {
          for (const { name, stepId } of open) terminal.print(`not undone: ${harmless(name)} (step ${stepId})`)
          terminal.print(`instance ${made.id} goes on where ${id} stopped; \`petrel watch ${made.id}\` follows it`)
        }
        return EXIT.ok
      })
    }),
  )
}
