import type { Command } from 'commander'
import { act, jsonOption, type Shared, storeOptions } from '../act.ts'
import { withEngine } from '../connect.ts'
import { EXIT } from '../failure.ts'
import { actor, instanceView } from '../lookup.ts'

export function defineRetry(program: Command): void {
  const command = program
    .command('retry')
    .argument('<id>', 'an instance that did not complete')
    .description('start a new instance that takes over what a failed one finished')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withEngine(options, async (engine) => {
        await instanceView(engine, id)
        const started = await engine.retryInstance({ id, actor: actor() })
        if (terminal.json) terminal.data({ id: started.id, retry_of: id, created: started.created })
        else
          terminal.print(
            `instance ${started.id} goes on where ${id} stopped; \`petrel watch ${started.id}\` follows it`,
          )
        return EXIT.ok
      }),
    ),
  )
}
