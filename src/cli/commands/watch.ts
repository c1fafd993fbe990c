import type { Command } from 'commander'
import { instanceView } from '../lookup.ts'
import { withEngine } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { interrupted } from '../terminal/interrupted.ts'

export function defineWatch(program: Command): void {
  const command = program
    .command('watch')
    .argument('<id>', 'instance')
    .description('follow an instance until it ends; exits 1 unless it completed')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withEngine(options, async (engine) => {
        await instanceView(engine, id)
        const [{ follow }, { exitOf, printEnding }] = await Promise.all([
          import('../run/follow.ts'),
          import('../run/ending.ts'),
        ])
        const stop = interrupted()
        const row = await follow({ engine, terminal, id, signal: stop.signal, records: true })
        stop.ignore()
        const view = await instanceView(engine, id)
        if (!terminal.json) await printEnding(terminal, engine, view, { waits: [], note: '' })
        return row.endedAt === null ? EXIT.ok : exitOf(row)
      }),
    ),
  )
}
