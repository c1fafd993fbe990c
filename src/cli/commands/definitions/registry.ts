/** registry ls | set | enable | disable | pause | resume | rm: which runtime executes a type, and whether any may. */

import type { Command } from 'commander'
import { PetrelError } from '../../../kernel/errors.ts'
import type { RuntimeRow, TypeRegistry } from '../../../model/registry.ts'
import type { Perform } from '../../../operations/operation.ts'
import { pauseType, resumeType } from '../../../operations/pauses/pauses.ts'
import {
  changeRegistryEntry,
  listRegistry,
  putRegistryEntry,
  removeRegistryEntry,
} from '../../../operations/registry.ts'
import { registryWire } from '../../../wire/registry.ts'
import { correct } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import type { Shared } from '../../terminal/act.ts'
import { act, jsonOption, storeOptions } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { brief } from '../../terminal/words.ts'
import { definePauseRule } from './pause-rule.ts'

interface SetOptions extends Shared {
  readonly description?: string
}

export function defineRegistry(program: Command): void {
  const registry = program
    .command('registry')
    .description('who executes which type: ls, set, enable, disable, rm, pause, resume')
  const ls = registry.command('ls').description('list the types that are not open to all')
  jsonOption(storeOptions(ls)).action(
    act<Shared>(async (terminal, options) => {
      list(terminal, await withOperations(options, (perform) => perform(listRegistry, null)))
      return EXIT.ok
    }),
  )
  const set = registry
    .command('set')
    .argument('<type>', 'exact type, such as billing.invoice.v1')
    .argument('<runtime>', 'the runtime its workers report: node, go, python')
    .description('only workers of this runtime take the type')
    .option('--description <text>', 'what it is for')
  jsonOption(storeOptions(set)).action(
    act<SetOptions, readonly [string, string]>((terminal, options, workflowName, runtime) => {
      const { description } = options
      const about = description === undefined ? {} : { description }
      return correct('registry set', () =>
        change(terminal, options, (perform) => perform(putRegistryEntry, { workflowName, runtime, ...about })),
      )
    }),
  )
  for (const [name, isEnabled, description] of [
    ['enable', true, 'let workers take the type again'],
    ['disable', false, 'no worker may take the type; held runs continue, new ones wait'],
  ] as const) {
    const command = registry.command(name).argument('<type>', 'a listed type').description(description)
    jsonOption(storeOptions(command)).action(
      act<Shared, readonly [string]>((terminal, options, workflowName) =>
        change(terminal, options, (perform) =>
          listed(workflowName, perform(changeRegistryEntry, { workflowName, isEnabled })),
        ),
      ),
    )
  }
  definePauseRule(registry, {
    argument: 'exact type, such as billing.invoice.v1',
    about: 'no worker takes the type, listed or not; held runs continue',
    paused: 'no worker takes its runs',
    pause: pauseType,
    resume: resumeType,
  })
  const rm = registry.command('rm').argument('<type>', 'a listed type').description('open the type to all workers')
  jsonOption(storeOptions(rm)).action(
    act<Shared, readonly [string]>(async (terminal, options, type) => {
      const removed = withOperations(options, (perform) => perform(removeRegistryEntry, { name: type }))
      const row = await listed(type, removed)
      if (terminal.json) terminal.data({ entry: registryWire(row) })
      else terminal.print(`${type} is open to all workers`)
      return EXIT.ok
    }),
  )
}

async function change(
  terminal: Terminal,
  options: Shared,
  work: (perform: Perform) => Promise<RuntimeRow>,
): Promise<number> {
  const row = await withOperations(options, work)
  if (terminal.json) terminal.data({ entry: registryWire(row) })
  else
    terminal.print(
      row.isEnabled
        ? `${row.workflowName} is executed by ${row.runtime}`
        : `${row.workflowName} is ${terminal.paint('yellow', 'disabled')} (${row.runtime})`,
    )
  return EXIT.ok
}

function list(terminal: Terminal, rows: Awaited<ReturnType<TypeRegistry['list']>>): void {
  if (terminal.json) return terminal.data({ entries: rows.map(registryWire) })
  if (rows.length === 0) return terminal.print('nothing is listed: every type is open to all workers')
  terminal.table(
    [
      { title: 'TYPE' },
      { title: 'RUNTIME' },
      { title: 'STATE' },
      { title: 'PENDING', align: 'right' },
      { title: 'ABOUT' },
    ],
    rows.map((row) => [
      row.workflowName,
      row.runtime,
      row.isEnabled ? 'enabled' : terminal.paint('yellow', 'disabled'),
      String(row.pending),
      brief(row.description ?? ''),
    ]),
  )
}

async function listed<T>(type: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof PetrelError) || error.code !== 'not_found') throw error
    throw new CliError('not_found', `${type} is not in the registry`, '`petrel registry ls` lists what is', { type })
  }
}
