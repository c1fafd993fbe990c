import type { Command } from 'commander'
import { count } from '../../../views/words.ts'
import { connectStore, shownUrl, storeUrl } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'

export function defineMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('bring the database up to date; safe to run again and at the same time')
  jsonOption(storeOptions(command)).action(
    act<Shared>(async (terminal, options) => {
      const store = await connectStore(options)
      try {
        const { applied, repeatables, version } = await store.migrate()
        const url = shownUrl(storeUrl(options))
        if (terminal.json) terminal.data({ store: url, applied, repeatables, version })
        else {
          for (const name of applied) terminal.print(`applied ${name}`)
          for (const name of repeatables) terminal.print(`applied repeatable/${name}`)
          const done = [
            applied.length > 0 ? count(applied.length, 'migration') : [],
            repeatables.length > 0 ? count(repeatables.length, 'repeatable file') : [],
          ].flat()
          terminal.print(
            `${url} is at version ${version}, ${done.length === 0 ? 'nothing to do' : `${done.join(' and ')} applied`}`,
          )
        }
        return EXIT.ok
      } finally {
        await store.close()
      }
    }),
  )
}
