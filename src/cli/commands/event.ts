import type { Command } from 'commander'
import type { Published } from '../../operations/definitions/events.ts'
import { correct } from '../inbox.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'

interface EventOptions extends Shared {
  readonly payload?: string
  readonly id?: string
}

export function defineEvent(program: Command): void {
  const command = program
    .command('event')
    .argument('<type>', 'what happened, such as order.placed')
    .description('publish an event: starts the definitions that wait for it')
    .option('--payload <json>', 'JSON, @FILE, or - for standard input (default: {})')
    .option('--id <id>', 'id of the event: publishing it again with the same id starts nothing twice')
  jsonOption(storeOptions(command)).action(
    act<EventOptions, readonly [string]>(async (terminal, options, type) => {
      const { publishedWire, readEvent } = await import('../../wire/requests/event.ts')
      const { publishEvent } = await import('../../operations/definitions/events.ts')
      const { payload, id } = options
      const example = `for example --payload '{"order": 7}', @order.json or -`
      const published = await correct('event', () => {
        const asked = readEvent({
          type,
          ...(payload === undefined ? {} : { payload: jsonArgument(payload, '--payload', example) }),
          ...(id === undefined ? {} : { id }),
        })
        return withOperations(options, (perform) => perform(publishEvent, asked))
      })
      if (terminal.json) terminal.data(publishedWire(published))
      else print(terminal, type, published)
      return EXIT.ok
    }),
  )
}

function print(terminal: Terminal, type: string, { id, started, passed }: Published): void {
  for (const { name, version, instanceId, created } of started) {
    const what = created ? 'starts' : 'had started'
    terminal.print(`${harmless(type)} ${what} ${harmless(name)} ${harmless(version)}: instance ${instanceId}`)
  }
  for (const { name, condition, why } of passed) {
    terminal.print(
      `${harmless(name)} does not start: ${harmless(why)}${condition === null ? '' : ` (${harmless(condition)})`}`,
    )
  }
  if (started.length === 0) terminal.print(`nothing started; the event is ${harmless(id)}`)
}
