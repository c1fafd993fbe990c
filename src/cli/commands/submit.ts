import type { Command } from 'commander'
import { type DebounceOptions, debounceOf, debounceOptions, printDebounced } from '../debounce.ts'
import { correct, number } from '../inbox.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'

interface SubmitOptions extends Shared, DebounceOptions {
  readonly key?: string
  readonly priority?: number
  readonly runAt?: string
  readonly maxAttempts?: number
  readonly queue?: string
  readonly fairKey?: string
}

export function defineSubmit(program: Command): void {
  const command = program
    .command('submit')
    .argument('<type>', 'dotted, ending in a version: billing.invoice.v1')
    .argument('[payload]', 'JSON, @FILE, or - for standard input', '{}')
    .description('put a run into the inbox')
    .option('--key <key>', 'idempotency key: a second submit under it answers with the first run')
    .option('--priority <n>', 'smaller is earlier (default: 100)', number('priority'))
    .option('--run-at <time>', 'not before this time: 2030-01-31T09:00:00Z')
    .option('--max-attempts <n>', 'executions in all (default: 3)', number('max attempts'))
    .option('--queue <name>', 'its queue (default: default)')
    .option('--fair-key <key>', 'the key that it shares the queue under, such as a customer')
  jsonOption(storeOptions(debounceOptions(command))).action(
    act<SubmitOptions, readonly [string, string]>(async (terminal, options, type, payload) => {
      const { submitRun } = await import('../../operations/runs/enqueue.ts')
      const { readSubmit, readSubmitDebounce } = await import('../../wire/requests/submit.ts')
      const { submitWire } = await import('../../wire/inbox-run.ts')
      const body = {
        type,
        payload: jsonArgument(payload, 'the payload', `for example '{"order": 7}', @order.json or -`),
        ...(options.key === undefined ? {} : { idempotency_key: options.key }),
        ...(options.priority === undefined ? {} : { priority: options.priority }),
        ...(options.runAt === undefined ? {} : { run_at: options.runAt }),
        ...(options.maxAttempts === undefined ? {} : { max_attempts: options.maxAttempts }),
        ...(options.queue === undefined ? {} : { queue: options.queue }),
        ...(options.fairKey === undefined ? {} : { fair_key: options.fairKey }),
        ...debounceOf(options),
      }
      const debounce = await correct('submit', () => readSubmitDebounce(body))
      if (debounce !== null) {
        const { debounceRun } = await import('../../operations/debounced/debounced.ts')
        const run = { ...readSubmit(body), inbox: true }
        const perform = () => withOperations(options, (perform) => perform(debounceRun, { run, debounce }))
        return printDebounced(terminal, (await correct('submit', perform)).row)
      }
      const { made } = await correct('submit', () => {
        const params = readSubmit(body)
        return withOperations(options, (perform) => perform(submitRun, params))
      })
      if (terminal.json) terminal.data(submitWire(made))
      else if (made.created) terminal.print(`run ${made.id} (${type}) is ${made.run?.status ?? 'pending'}`)
      else
        terminal.print(`the key is taken by run ${made.id}${made.run === null ? '' : `, which is ${made.run.status}`}`)
      return EXIT.ok
    }),
  )
}
