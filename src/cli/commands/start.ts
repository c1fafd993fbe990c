import type { Command } from 'commander'
import { readId } from '../../kernel/ids.ts'
import type { InstanceRow } from '../../model/rows.ts'
import { debounceStart } from '../../operations/debounced/debounced.ts'
import { type StartMade, startDefinition, startInstance } from '../../operations/instances/change.ts'
import { instanceWire } from '../../wire/instance.ts'
import { type DebounceOptions, debounceOf, debounceOptions, printDebounced } from '../debounce.ts'
import { correct } from '../inbox.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { paintState } from '../terminal/words.ts'

interface StartOptions extends Shared, DebounceOptions {
  readonly version?: string
  readonly input?: string
  readonly key?: string
  readonly idle?: boolean
  readonly meta?: string
  readonly tag?: readonly string[]
  readonly fairKey?: string
  readonly correlation?: string
}

export function defineStart(program: Command): void {
  const command = program
    .command('start')
    .argument('<name>', 'a deployed definition, or the id of an idle instance')
    .description('start a deployed definition, or an idle instance')
    .option('--version <version>', 'of the definition (default: the latest)')
    .option('--input <json>', 'JSON, @FILE, or - for standard input')
    .option('--key <key>', 'start key: a second start under it answers with the first instance')
    .option('--idle', 'create it idle: start, an event or its schedule begins it')
    .option('--meta <json>', 'stored with it: a JSON object, @FILE or -')
    .option('--tag <tag...>', 'queries find it by these tags, and by those of its definition')
    .option('--fair-key <key>', 'the key that its runs share their queues under, such as a customer')
    .option('--correlation <id>', 'subject of its events (default: its id)')
  jsonOption(storeOptions(debounceOptions(command))).action(
    act<StartOptions, readonly [string]>((terminal, options, name) =>
      readId(name) !== null ? startIdle(terminal, options, name) : startNew(terminal, options, name),
    ),
  )
}

async function startNew(terminal: Terminal, options: StartOptions, name: string): Promise<number> {
  const { readDebounce, readStart, startedWire } = await import('../../wire/requests/start.ts')
  const { version, input, key, idle, meta, tag, fairKey, correlation } = options
  return correct('start', async () => {
    const body = {
      workflow: name,
      ...(version === undefined ? {} : { version }),
      ...(input === undefined ? {} : { input: jsonArgument(input, '--input', `for example --input '{"order": 1}'`) }),
      ...(key === undefined ? {} : { start_key: key }),
      ...(idle === true ? { start: false } : {}),
      ...(meta === undefined ? {} : { meta: jsonArgument(meta, '--meta', `for example --meta '{"ticket": "T-17"}'`) }),
      ...(tag === undefined ? {} : { tags: tag }),
      ...(fairKey === undefined ? {} : { fair_key: fairKey }),
      ...(correlation === undefined ? {} : { correlation_id: correlation }),
      ...debounceOf(options),
    } as const
    const debounce = readDebounce(body)
    const asked = readStart(body)
    return withOperations(options, async (perform) => {
      if (debounce !== null) {
        const row = await perform(debounceStart, { ...asked, debounce })
        return printDebounced(terminal, row)
      }
      const made = await perform(startDefinition, asked)
      if (terminal.json) terminal.data(startedWire(made))
      else print(terminal, made)
      return EXIT.ok
    })
  })
}

function print(terminal: Terminal, { id, created, row, definition: { name, version } }: StartMade): void {
  const state = paintState(terminal, row?.state ?? 'gone')
  if (!created) terminal.print(`the key is taken by instance ${id}, which is ${state}`)
  else terminal.print(`instance ${id} of ${harmless(name)} ${harmless(version)} is ${state}; ${next(row, id)}`)
}

async function startIdle(terminal: Terminal, options: StartOptions, id: string): Promise<number> {
  const given = (
    ['version', 'input', 'key', 'idle', 'meta', 'tag', 'fairKey', 'correlation', 'debounce', 'delay', 'max'] as const
  ).find((option) => options[option] !== undefined)
  if (given !== undefined) {
    throw new CliError(
      'invalid_request',
      `--${given === 'fairKey' ? 'fair-key' : given} is for a new instance; ${id} has its own`,
      'name a definition to start a new one, or leave the option out',
    )
  }
  return withOperations(options, async (perform) => {
    const row = await perform(startInstance, { id })
    if (terminal.json) terminal.data({ instance: instanceWire(row) })
    else terminal.print(`${harmless(row.name)} ${id} is ${paintState(terminal, row.state)}; ${next(row, id)}`)
    return EXIT.ok
  })
}

function next(row: InstanceRow | null, id: string): string {
  if (row?.state === 'idle') return `\`petrel start ${id}\` starts it`
  if (row?.state === 'queued') return `it begins when its workflow has a free slot; \`petrel watch ${id}\` follows it`
  return `\`petrel watch ${id}\` follows it`
}
