import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { span } from '../../../views/words.ts'
import type { Handlers } from '../../../worker/handlers.ts'
import { shownUrl, storeUrl } from '../../process/connect.ts'
import { type DevToken, devToken } from '../../process/dev-token.ts'
import { natsOptions, sagasLine } from '../../process/nats.ts'
import { type Service, startService } from '../../process/service.ts'
import { makeTools, ownSecrets, type ToolOptions, toolOptions, withSteps } from '../../process/tools.ts'
import { act, jsonOption, storeOptions } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { interrupted, untilAborted } from '../../terminal/interrupted.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { type HttpOptions, httpOptions, httpParams } from './server.ts'

interface DevOptions extends HttpOptions, ToolOptions {
  /** commander's --no-demo. */
  readonly demo: boolean
  readonly handlers?: string
  /** commander's --no-tools. */
  readonly tools: boolean
}

export function defineDev(program: Command): void {
  const command = program
    .command('dev')
    .description('everything in one process on the embedded store, with examples')
    .option('--handlers <module>', 'also execute the types of this module')
    .option('--no-demo', 'without the examples')
    .option('--no-tools', 'do not execute the steps of playbooks')
  jsonOption(storeOptions(natsOptions(httpOptions(toolOptions(command))))).action(act<DevOptions>(dev))
}

async function dev(terminal: Terminal, options: DevOptions): Promise<number> {
  const stop = interrupted()
  const demo = options.demo ? await loadDemo() : null
  const module = await (await import('../../run/handlers.ts')).loadModule(options.handlers)
  const own = options.tools
    ? withSteps(module.handlers, await makeTools(options, module.tools), ownSecrets(options))
    : module.handlers
  const handlers = demo === null ? own : demo.addHandlers(own)
  const token = devToken(options.data ?? '.petrel')
  const service = await startService({
    shared: options,
    http: { ...httpParams(options), token: token.token },
    sagas: module.sagas,
    work: handlers.types().length === 0 ? null : { handlers },
    graceMs: options.grace * 1000,
  })
  const url = service.server?.url ?? ''
  const store = shownUrl(storeUrl(options))
  const readyMs = Math.round(process.uptime() * 1000)
  if (terminal.json) terminal.record({ event: 'ready', url, store, token_file: token.file, ready_ms: readyMs })
  else {
    terminal.print(
      `${terminal.paint('bold', 'Petrel')} is ready at ${terminal.paint('bold', url)} after ${span(readyMs)}; store ${store}`,
    )
    const sagas = await sagasLine(options, service.sagas)
    if (sagas !== null) terminal.print(sagas)
    terminal.print()
  }
  try {
    if (demo !== null) {
      await runDemo(terminal, service, await demo.definition(), stop.signal)
      if (!stop.signal.aborted) await demo.start(service)
    }
    if (!terminal.json && !stop.signal.aborted) printWhereToLook(terminal, url, options, token)
    await untilAborted(stop.signal)
  } finally {
    if (!terminal.json) terminal.print('stopping: what is being worked on may end')
    await service.stop()
  }
  if (terminal.json) terminal.record({ event: 'stopped' })
  else terminal.print('stopped')
  return EXIT.ok
}

async function loadDemo() {
  const { addDemoHandlers, demoDefinition } = await import('../../demo/first.ts')
  const { addExampleHandlers, startExamples } = await import('../../demo/examples.ts')
  return {
    addHandlers: (own: Handlers | null) => addExampleHandlers(addDemoHandlers(own)),
    definition: demoDefinition,
    start: startExamples,
  }
}

async function runDemo(
  terminal: Terminal,
  { engine }: Service,
  definition: Awaited<ReturnType<typeof import('../../demo/first.ts').demoDefinition>>,
  signal: AbortSignal,
): Promise<void> {
  const { follow } = await import('../../run/follow.ts')
  const [started] = await engine.start([{ ...definition.start, initiator: 'petrel dev' }])
  const { id } = started as { readonly id: string }
  const row = await follow({ reading: engine, terminal, id, signal })
  if (terminal.json) terminal.record({ event: 'demo', id, state: row.state, outcome: row.outcome })
}

function printWhereToLook(terminal: Terminal, url: string, options: DevOptions, { file, token }: DevToken): void {
  const where =
    options.store === undefined && (options.data ?? '.petrel') === '.petrel'
      ? ''
      : options.store === undefined
        ? ` --data ${options.data}`
        : ' --store …'
  terminal.print()
  terminal.print('Where to look:')
  terminal.print(`  ${url}/?token=${token}    the dashboard`)
  terminal.print(`  curl -H "Authorization: Bearer $(cat ${file})" ${url}/v1/instances    instances as JSON`)
  terminal.print(`  petrel ls${where}, petrel show ID${where}`)
  if (existsSync('examples/order.chain.yaml')) {
    terminal.print('  petrel run examples/order.chain.yaml --handlers examples/order.handlers.mjs')
  }
  if (options.tools) terminal.print('  petrel deploy PLAYBOOK.yaml, petrel start NAME: its steps are worked on here')
  terminal.print(terminal.paint('dim', 'Ctrl-C stops it; the data stays.'))
}
