import type { Command } from 'commander'
import { instanceWire, runWire } from '../../server/wire.ts'
import { act, jsonOption, type Shared, storeOptions } from '../act.ts'
import { withEngine } from '../connect.ts'
import { EXIT } from '../failure.ts'
import { actor, runOrInstance } from '../lookup.ts'
import { paintState } from '../words.ts'

export function defineCancel(program: Command): void {
  const command = program
    .command('cancel')
    .argument('<id>', 'instance or run')
    .description('cancel an instance (or a run)')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withEngine(options, async (engine) => {
        const found = await runOrInstance(engine, id)
        if ('run' in found) {
          const run = await engine.cancelRun({ id, actor: actor() })
          if (terminal.json) terminal.data({ run: runWire(run) })
          else terminal.print(`run ${id} is ${paintState(terminal, run.status)}`)
        } else {
          const row = await engine.cancelInstance({ id, actor: actor() })
          if (terminal.json) terminal.data({ instance: instanceWire(row) })
          else
            terminal.print(
              `${row.name} ${id} is ${paintState(terminal, row.state)}${row.endedAt === null ? ': what is being worked on may still end' : ''}`,
            )
        }
        return EXIT.ok
      }),
    ),
  )
}
