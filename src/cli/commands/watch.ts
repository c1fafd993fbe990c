import type { Command } from 'commander'
import { instanceView } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { interrupted } from '../terminal/interrupted.ts'

export function defineWatch(program: Command): void {
  const command = program
    .command('watch')
    .argument('<id>', 'instance')
    .description('follow an instance until it ends; exits 1 unless it completed')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, given) =>
      withOperations(options, async (perform, reading) => {
        const { id } = (await instanceView(perform, given)).instance
        const [{ follow }, { exitOf, printEnding }] = await Promise.all([
          import('../run/follow.ts'),
          import('../run/ending.ts'),
        ])
        const stop = interrupted()
        const row = await follow({ reading, terminal, id, signal: stop.signal, records: true })
        stop.ignore()
        const view = await instanceView(perform, id)
        if (!terminal.json) await printEnding(terminal, reading, view, { waits: [], note: '' })
        return row.endedAt === null ? EXIT.ok : exitOf(row)
      }),
    ),
  )
}
