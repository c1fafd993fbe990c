import type { Command } from 'commander'
import { cancelInstance } from '../../operations/instances/change.ts'
import { cancelRun } from '../../operations/runs/change.ts'
import { instanceWire } from '../../wire/instance.ts'
import { runWire } from '../../wire/run.ts'
import { isRun } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { paintState } from '../terminal/words.ts'

export function defineCancel(program: Command): void {
  const command = program
    .command('cancel')
    .argument('<id>', 'instance or run')
    .description('cancel an instance (or a run)')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        if (await isRun(perform, id)) {
          const run = await perform(cancelRun, { id })
          if (terminal.json) terminal.data({ run: runWire(run) })
          else terminal.print(`run ${id} is ${paintState(terminal, run.status)}`)
        } else {
          const row = await perform(cancelInstance, { id })
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
