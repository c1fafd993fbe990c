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
  readonly runtime?: string
  readonly grace: number
  readonly metricsPort?: number
  readonly metricsHost: string
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
    .option('--types <types>', 'only these types, by comma; billing.% is a prefix', byComma)
    .option('--concurrency <n>', 'runs at the same time (default: 10)', wholeNumber(1, 'concurrency'))
    .option('--name <name>', 'shown beside the work it holds (default: host and process id)')
    .option('--runtime <word>', 'what the registry calls workers like this one (default: node)')
    .option(
      '--metrics-port <port>',
      'serve GET /metrics for Prometheus there; 0: any free port',
      wholeNumber(0, 'port'),
    )
    .option('--metrics-host <address>', 'address of the metrics', '127.0.0.1')
    .option('--grace <seconds>', 'how long running work may take to end after SIGTERM', wholeNumber(0, 'grace'), 25)
  jsonOption(storeOptions(command)).action(
    act<WorkerOptions>(async (terminal, options) => {
      const { loadHandlers } = await import('../run/handlers.ts')
      const handlers = (await loadHandlers(options.handlers)).select(options.types ?? null)
      const { queues, concurrency, name, runtime, metricsPort, metricsHost } = options
      const stop = interrupted()
      const service = await startService({
        shared: options,
        http: null,
        work: {
          handlers,
          ...(queues === undefined ? {} : { queues }),
          ...(concurrency === undefined ? {} : { concurrency }),
          ...(name === undefined ? {} : { name }),
          ...(runtime === undefined ? {} : { runtime }),
        },
        metrics: metricsPort === undefined ? null : { host: metricsHost, port: metricsPort },
        graceMs: options.grace * 1000,
      })
      const types = handlers.types()
      const shown = service.metrics === null ? null : `http://${metricsHost}:${service.metrics.port}/metrics`
      if (terminal.json)
        terminal.record({
          event: 'ready',
          types,
          queues: queues ?? null,
          store: shownUrl(storeUrl(options)),
          ...(shown === null ? {} : { metrics: shown }),
        })
      else {
        terminal.print(
          `working on ${types.join(', ')}, queues ${queues?.join(', ') ?? 'all'}, store ${shownUrl(storeUrl(options))}`,
        )
        if (shown !== null) terminal.print(`metrics on ${shown}`)
      }
      await untilAborted(stop.signal)
      if (!terminal.json) terminal.print('stopping: what is being worked on may end')
      await service.stop()
      if (terminal.json) terminal.record({ event: 'stopped' })
      else terminal.print('stopped')
      return EXIT.ok
    }),
  )
}
