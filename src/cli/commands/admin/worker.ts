import type { Command } from 'commander'
import type { Saga } from '../../../client/saga.ts'
import { Secrets } from '../../../notations/playbook/runtime/secret-sources.ts'
import { TEMPLATE_TYPE } from '../../../notations/saga/runtime/program.ts'
import type { Handlers } from '../../../worker/handlers.ts'
import { shownUrl, storeUrl } from '../../process/connect.ts'
import { type NatsOptions, natsOptions, sagasLine, shownNats } from '../../process/nats.ts'
import { type Service, startService } from '../../process/service.ts'
import { byComma, givenSecrets, makeTools, type ToolOptions, toolOptions, withSteps } from '../../process/tools.ts'
import { act, jsonOption, oneLine, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'
import { interrupted, untilAborted } from '../../terminal/interrupted.ts'
import type { Terminal } from '../../terminal/terminal.ts'

interface WorkerOptions extends Shared, ToolOptions, NatsOptions {
  readonly handlers?: string
  /** true: all kinds. */
  readonly tools?: readonly string[] | true
  readonly queues?: readonly string[]
  readonly types?: readonly string[]
  readonly concurrency?: number
  readonly name?: string
  readonly tenant?: string
  readonly runtime?: string
  readonly build?: string
  readonly grace: number
  readonly metricsPort?: number
  readonly metricsHost: string
}

export function defineWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('execute due runs, with the handlers of a module, the tools of playbooks, or both')
    .option('--handlers <module>', 'ES module whose default export maps types to handlers')
    .option('--tools [kinds]', 'execute steps of playbooks; kinds of tools by comma (default: all)', byComma)
    .option('--queues <names>', 'only these queues, by comma', byComma)
    .option('--types <types>', 'only these types, by comma; billing.% is a prefix', byComma)
    .option('--tenant <name>', 'only the runs of this tenant', oneLine)
    .option('--concurrency <n>', 'runs at the same time (default: 10)', wholeNumber(1, 'concurrency'))
    .option('--name <name>', 'shown with the work it holds (default: host and process id)')
    .option('--runtime <word>', 'runtime of this worker in the registry (default: node)')
    .option(
      '--build <text>',
      'build of the handlers, shown with the worker and its failures (default: PETREL_WORKER_BUILD)',
      oneLine,
    )
    .option(
      '--metrics-port <port>',
      'serve GET /metrics for Prometheus there; 0: any free port',
      wholeNumber(0, 'port'),
    )
    .option('--metrics-host <address>', 'address of the metrics', '127.0.0.1')
    .option('--grace <seconds>', 'how long running work may take to end after SIGTERM', wholeNumber(0, 'grace'), 25)
  jsonOption(storeOptions(natsOptions(toolOptions(command)))).action(
    act<WorkerOptions>(async (terminal, options) => {
      const work = await workOf(options)
      const stop = interrupted()
      const service = await startWork(work, options)
      await announce(terminal, { work, service, options })
      await untilAborted(stop.signal)
      if (!terminal.json) terminal.print('stopping: what is being worked on may end')
      await service.stop()
      if (terminal.json) terminal.record({ event: 'stopped' })
      else terminal.print('stopped')
      return EXIT.ok
    }),
  )
}

function startWork({ handlers, sagas }: Work, options: WorkerOptions): Promise<Service> {
  const { queues, concurrency, name, tenant, runtime, build, metricsPort, metricsHost } = options
  return startService({
    shared: options,
    http: null,
    sagas,
    work:
      handlers.types().length === 0
        ? null
        : {
            handlers,
            ...(queues === undefined ? {} : { queues }),
            ...(concurrency === undefined ? {} : { concurrency }),
            ...(name === undefined ? {} : { name }),
            ...(tenant === undefined ? {} : { tenant }),
            ...(runtime === undefined ? {} : { runtime }),
            ...(build === undefined ? {} : { build }),
          },
    metrics: metricsPort === undefined ? null : { host: metricsHost, port: metricsPort },
    graceMs: options.grace * 1000,
  })
}

/** Prints what the worker works on, and where. */
async function announce(
  terminal: Terminal,
  params: { readonly work: Work; readonly service: Service; readonly options: WorkerOptions },
): Promise<void> {
  const { service, options } = params
  const { handlers, kinds, sagas } = params.work
  const { queues, tenant, metricsHost } = options
  const nats = shownNats(options)
  const types = [...handlers.types(), ...sagas.map(({ type }) => type), ...(nats === null ? [] : [TEMPLATE_TYPE])]
  const onNats = await sagasLine(options, service.sagas)
  const metrics = service.metrics === null ? null : `http://${metricsHost}:${service.metrics.port}/metrics`
  const store = shownUrl(storeUrl(options))
  if (terminal.json) {
    terminal.record({
      event: 'ready',
      types,
      ...(kinds === null ? {} : { tools: kinds }),
      queues: queues ?? null,
      ...(tenant === undefined ? {} : { tenant }),
      store,
      ...(nats === null ? {} : { nats }),
      ...(metrics === null ? {} : { metrics }),
    })
    return
  }
  terminal.print(`working on ${types.join(', ')}, queues ${queues?.join(', ') ?? 'all'}, store ${store}`)
  if (kinds !== null) terminal.print(`tools ${kinds.join(', ')}; ${new Secrets(givenSecrets(options)).summary()}`)
  if (onNats !== null) terminal.print(onNats)
  if (metrics !== null) terminal.print(`metrics on ${metrics}`)
}

interface Work {
  readonly handlers: Handlers
  readonly sagas: readonly Saga[]
  /** The kinds of its tools; null: it executes no steps of playbooks. */
  readonly kinds: readonly string[] | null
}

async function workOf(options: WorkerOptions): Promise<Work> {
  if (options.handlers === undefined && options.tools === undefined && options.nats === undefined) {
    throw new CliError(
      'invalid_request',
      'a worker needs something to work with',
      '--handlers MODULE for types of your own, --tools for the steps of playbooks, --nats URL for sagas',
    )
  }
  const { loadModule } = await import('../../run/handlers.ts')
  const module = await loadModule(options.handlers)
  const only = options.types ?? null
  // A module with tools of its own is given in order to use them.
  if (options.tools === undefined && module.tools.length === 0) {
    const none = module.handlers.types().length === 0 && (options.nats !== undefined || module.sagas.length > 0)
    return { handlers: none ? module.handlers : module.handlers.select(only), kinds: null, sagas: module.sagas }
  }
  const asked = options.tools === undefined || options.tools === true ? null : options.tools
  const tools = await makeTools(options, module.tools, asked)
  return {
    handlers: withSteps(module.handlers, tools, givenSecrets(options)).select(only),
    kinds: tools.kinds(),
    sagas: module.sagas,
  }
}
