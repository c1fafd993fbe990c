import { type Command, Option } from 'commander'
import { shownUrl, storeUrl } from '../../process/connect.ts'
import { type NatsOptions, natsOptions, sagasLine, shownNats } from '../../process/nats.ts'
import { type HttpParams, startService } from '../../process/service.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { interrupted, untilAborted } from '../../terminal/interrupted.ts'

export interface HttpOptions extends Shared, NatsOptions {
  readonly port: number
  readonly host: string
  readonly grace: number
  readonly requireKey?: boolean
  readonly insecure?: boolean
  readonly rateLimit?: number
  readonly maxBody?: number
  readonly allowReset?: boolean
  readonly allowPrivateWebhooks?: boolean
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
    .option(
      '--require-key',
      'require an API key on every request, also on this machine (elsewhere it is always required)',
    )
    .addOption(
      new Option('--insecure', 'allow access without a key to every client that can reach --host').conflicts(
        'requireKey',
      ),
    )
    .option('--rate-limit <n>', 'requests per minute and caller; 0: any number', wholeNumber(0, 'rate limit'))
    .option('--max-body <bytes>', 'largest request body', wholeNumber(65_536, 'max body'))
    .option('--allow-reset', 'for tests: POST /ojs/v1/admin/reset wipes the store')
    .option(
      '--allow-private-webhooks',
      'webhooks may go to private addresses and over plain http (without keys, on loopback, they may)',
    )
}

/** The command-line options in the server's form. */
export function httpParams(options: HttpOptions): HttpParams {
  const auth = options.insecure === true ? 'insecure' : options.requireKey === true ? 'required' : undefined
  return {
    port: options.port,
    host: options.host,
    ...(auth === undefined ? {} : { auth }),
    ...(options.rateLimit === undefined ? {} : { ratePerMinute: options.rateLimit === 0 ? null : options.rateLimit }),
    ...(options.maxBody === undefined ? {} : { maxBodyBytes: options.maxBody }),
    ...(options.allowReset === undefined ? {} : { allowReset: options.allowReset }),
    ...(options.allowPrivateWebhooks === undefined ? {} : { allowPrivateWebhooks: options.allowPrivateWebhooks }),
  }
}

export function defineServer(program: Command): void {
  const command = program
    .command('server')
    .description('engine and HTTP API, without workers; with --nats also what sagas need')
  jsonOption(storeOptions(natsOptions(httpOptions(command)))).action(
    act<HttpOptions>(async (terminal, options) => {
      const stop = interrupted()
      const service = await startService({
        shared: options,
        http: httpParams(options),
        work: null,
        graceMs: options.grace * 1000,
      })
      const url = service.server?.url ?? ''
      const nats = shownNats(options)
      const sagas = await sagasLine(options, service.sagas)
      const store = shownUrl(storeUrl(options))
      if (terminal.json) terminal.record({ event: 'ready', url, store, ...(nats === null ? {} : { nats }) })
      else {
        terminal.print(`listening on ${url}, store ${store}`)
        if (sagas !== null) terminal.print(sagas)
        if (service.server?.auth === 'insecure')
          terminal.print(
            terminal.paint('yellow', `anyone who can reach ${options.host} may do everything (--insecure)`),
          )
        if (options.allowReset === true)
          terminal.print(terminal.paint('yellow', 'POST /ojs/v1/admin/reset wipes the store (--allow-reset)'))
      }
      await untilAborted(stop.signal)
      await service.stop()
      if (terminal.json) terminal.record({ event: 'stopped' })
      else terminal.print('stopped')
      return EXIT.ok
    }),
  )
}
