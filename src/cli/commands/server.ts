import { type Command, Option } from 'commander'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../act.ts'
import { shownUrl, storeUrl } from '../connect.ts'
import { EXIT } from '../failure.ts'
import { interrupted, untilAborted } from '../interrupted.ts'
import { startService } from '../service.ts'

export interface HttpOptions extends Shared {
  readonly port: number
  readonly host: string
  readonly grace: number
}

export function httpOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--port <port>', 'port to listen on; 0: any free one')
        .env('PORT')
        .default(7070)
        .argParser(wholeNumber(0, 'port')),
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--grace <seconds>', 'how long running work may take to end after SIGTERM', wholeNumber(0, 'grace'), 25)
}

export function defineServer(program: Command): void {
  const command = program.command('server').description('engine and HTTP API, without workers')
  jsonOption(storeOptions(httpOptions(command))).action(
    act<HttpOptions>(async (terminal, options) => {
      const stop = interrupted()
      const service = await startService({
        shared: options,
        http: { port: options.port, host: options.host },
        work: null,
        graceMs: options.grace * 1000,
      })
      const url = service.server?.url ?? ''
      if (terminal.json) terminal.record({ event: 'ready', url, store: shownUrl(storeUrl(options)) })
      else terminal.print(`listening on ${url}, store ${shownUrl(storeUrl(options))}`)
      await untilAborted(stop.signal)
      await service.stop()
      if (terminal.json) terminal.record({ event: 'stopped' })
      else terminal.print('stopped')
      return EXIT.ok
    }),
  )
}
