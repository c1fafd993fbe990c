import type { Command } from 'commander'
import { act, jsonOption, type Shared, storeOptions } from '../act.ts'
import { withEngine } from '../connect.ts'
import { EXIT } from '../failure.ts'
import { interrupted } from '../interrupted.ts'
import { instanceView } from '../lookup.ts'

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
