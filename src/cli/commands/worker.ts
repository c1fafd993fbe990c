import type { Command } from 'commander'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../act.ts'
import { shownUrl, storeUrl } from '../connect.ts'
import { EXIT } from '../failure.ts'
import { interrupted, untilAborted } from '../interrupted.ts'
import { startService } from '../service.ts'

interface WorkerOptions extends Shared {
  readonly handlers: string
  readonly queues?: readonly string[]
  readonly types?: readonly string[]
  readonly concurrency?: number
  readonly name?: string
  readonly grace: number
}

const byComma = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

export function defineWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('work on what is due, with the handlers of a module')
    .requiredOption('--handlers <module>', 'ES module whose default export maps types to handlers')
    .option('--queues <names>', 'only these queues, by comma', byComma)
    .option('--types <types>', 'only these types, by comma; TYPE.% is a prefix', byComma)
    .option('--concurrency <n>', 'runs at the same time (default: 10)', wholeNumber(1, 'concurrency'))
    .option('--name <name>', 'shown beside the work it holds (default: host and process id)')
    .option('--grace <seconds>', 'how long running work may take to end after SIGTERM', wholeNumber(0, 'grace'), 25)
  jsonOption(storeOptions(command)).action(
    act<WorkerOptions>(async (terminal, options) => {
      const { loadHandlers } = await import('../run/handlers.ts')
      const handlers = (await loadHandlers(options.handlers)).select(options.types ?? null)
      const { queues, concurrency, name } = options
      const stop = interrupted()
      const service = await startService({
        shared: options,
        http: null,
        work: {
          handlers,
          ...(queues === undefined ? {} : { queues }),
          ...(concurrency === undefined ? {} : { concurrency }),
          ...(name === undefined ? {} : { name }),
        },
        graceMs: options.grace * 1000,
      })
      const types = handlers.types()
      if (terminal.json)
        terminal.record({ event: 'ready', types, queues: queues ?? null, store: shownUrl(storeUrl(options)) })
      else
        terminal.print(
          `working on ${types.join(', ')}, queues ${queues?.join(', ') ?? 'all'}, store ${shownUrl(storeUrl(options))}`,
        )
      await untilAborted(stop.signal)
      if (!terminal.json) terminal.print('stopping: what is being worked on may end')
      await service.stop()
      if (terminal.json) terminal.record({ event: 'stopped' })
      else terminal.print('stopped')
      return EXIT.ok
    }),
  )
}
