import type { Command } from 'commander'
import type { Json } from '../../net/net.ts'
import { patchContext } from '../../operations/instances/change.ts'
import { showContext } from '../../operations/instances/look.ts'
import { instanceWire } from '../../wire/instance.ts'
import { correct } from '../inbox.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { brief } from '../terminal/words.ts'

export function defineContext(program: Command): void {
  const command = program
    .command('context')
    .argument('<id>', 'instance')
    .argument('[entries...]', 'NAME=JSON, NAME=@FILE')
    .description('print the context of an instance, or write into it')
  jsonOption(storeOptions(command)).action(act<Shared, readonly [string, readonly string[]]>(context))
}

async function context(terminal: Terminal, options: Shared, id: string, entries: readonly string[]): Promise<number> {
  const [{ readContext }, { contextWire }] = await Promise.all([
    import('../../wire/requests/context.ts'),
    import('../../wire/given.ts'),
  ])
  const set = entries.length === 0 ? null : await correct('context', () => readContext({ set: setOf(entries) }))
  return withOperations(options, async (perform) => {
    const { row, context } =
      set === null ? await perform(showContext, { id }) : await perform(patchContext, { id, set })
    const all = contextWire(context)
    if (terminal.json) terminal.data({ instance: instanceWire(row), context: all })
    else if (Object.keys(all).length === 0) terminal.print('the context is empty')
    else
      for (const [name, value] of Object.entries(all))
        terminal.print(`${brief(name)} = ${brief(JSON.stringify(value), 200)}`)
    return EXIT.ok
  })
}

function setOf(entries: readonly string[]): { readonly [name: string]: Json } {
  return Object.fromEntries(
    entries.map((entry) => {
      const at = entry.indexOf('=')
      if (at < 1) {
        throw new CliError(
          'invalid_request',
          `'${entry}' is not NAME=JSON`,
          `for example approved=true or 'note="fine"'`,
        )
      }
      const name = entry.slice(0, at)
      return [name, jsonArgument(entry.slice(at + 1), name, `a text needs quotes of its own: '${name}="fine"'`)]
    }),
  )
}
