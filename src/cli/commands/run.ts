import type { Command } from 'commander'
import type { Json } from '../../net/net.ts'
import { notationOf, programsOf, projectionOf } from '../../notations/notations.ts'
import type { Definition } from '../../notations/source/definition.ts'
import { count, span } from '../../views/words.ts'
import type { Handlers } from '../../worker/handlers.ts'
import { connect } from '../process/connect.ts'
import { type NatsOptions, natsOptions, serveSagas } from '../process/nats.ts'
import { makeTools, ownSecrets, type ToolOptions, toolOptions, withSteps } from '../process/tools.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { readDefinitionFile, readText } from '../terminal/file.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface RunOptions extends Shared, ToolOptions, NatsOptions {
  readonly input?: string
  readonly handlers?: string
  /** true: without an outcomes file. */
  readonly mock?: string | true
  readonly wait?: boolean
}

export function defineRun(program: Command): void {
  const command = program
    .command('run')
    .argument('<file>', 'definition (YAML or JSON)')
    .description('run one definition to its end, in this process')
    .option('--input <json>', 'input of the instance: JSON, or @FILE')
    .option('--handlers <module>', 'ES module whose default export maps types to handlers')
    .option('--mock [outcomes]', 'dry run in memory: stand-ins for missing handlers, skipped waits')
    .option('--wait', 'continue while the instance only waits for something external')
    .addHelpText('after', HELP)
  jsonOption(storeOptions(natsOptions(toolOptions(command)))).action(act<RunOptions, readonly [string]>(run))
}

const HELP = `
Exits 0 when the instance completed, 1 when it failed, was cancelled or compensated, ended
partial, or only waits. A dry run (--mock) touches no store and no service: types without a
handler return their input, gates are approved, delays and retries take no time. The outcomes
file overrides this per node key or type:

  payment.charge:            # one answer per attempt
    - error: card declined
    - result: { id: ch_1 }
  ship: { delay: 2h }        # or: timeout
  approve: { approve: false, reason: too dear, after: 1d }
  audit: { error: { message: not allowed, category: governance }, approve: true }`

const INPUT_EXAMPLE = `for example --input '{"order": 1}' or --input @order.json`

async function run(terminal: Terminal, options: RunOptions, file: string): Promise<number> {
  const module = await (await import('../run/handlers.ts')).loadModule(options.handlers)
  // Tools are only loaded if needed: most definitions have no steps of that kind.
  const own = module.tools.length === 0 ? undefined : await makeTools(options, module.tools)
  const definition = await readDefinitionFile(file, own === undefined ? {} : { tools: own })
  const input = options.input === undefined ? null : jsonArgument(options.input, '--input', INPUT_EXAMPLE)
  const warned = definition.warnings?.length ?? 0
  if (warned > 0 && !terminal.json)
    terminal.error(
      `${file}: ${count(warned, 'warning')}; \`petrel check ${file}\` shows ${warned === 1 ? 'it' : 'them'}`,
    )
  const given = module.handlers.types().length === 0 ? null : module.handlers
  const works = options.mock === undefined && (await hasSteps(definition))
  const handlers = works ? withSteps(given, own ?? (await makeTools(options, [])), ownSecrets(options)) : given
  const stop = interrupted()
  try {
    if (options.mock !== undefined)
      return await runMock(terminal, { definition, input, handlers, signal: stop.signal }, options.mock)
    return await runLive(terminal, { definition, input, handlers, signal: stop.signal }, options)
  } finally {
    stop.ignore()
  }
}

/** Whether any of its steps, including those of nested workflows, uses tools. */
async function hasSteps(definition: Definition): Promise<boolean> {
  const { namesOf } = await import('../run/names.ts')
  return [...namesOf(definition).types].some((type) => programsOf(type) !== null)
}

interface Given {
  readonly definition: Definition
  readonly input: Json | null
  readonly handlers: Handlers | null
  readonly signal: AbortSignal
}

async function runLive(terminal: Terminal, given: Given, options: RunOptions): Promise<number> {
  const { liveRun } = await import('../run/live.ts')
  const { services, project } = notationOf(given.definition) ?? {}
  const byServices = services !== undefined
  if (byServices && options.nats === undefined)
    throw new CliError(
      'invalid_request',
      `a ${project?.terms.kind} needs services`,
      '--nats URL where they listen, or --mock for a dry run',
    )
  const engine = await connect(options, { create: true })
  const sagas = byServices ? await serveSagas(engine, options, { sagas: [], logger: null }) : null
  try {
    // All that it does is wait for services.
    const wait = byServices || options.wait === true
    const { id, waits } = await liveRun({ engine, terminal, ...given, wait })
    return await end(terminal, engine, id, { waits, note: '', trace: null, interrupted: given.signal.aborted })
  } finally {
    await sagas?.stop({ graceMs: 0 })
    await engine.close()
  }
}

async function runMock(terminal: Terminal, given: Given, mock: string | true): Promise<number> {
  const [{ dryRun }, { Outcomes, readOutcomes }, { namesOf }, { traceLine }, { waitsOf }] = await Promise.all([
    import('../run/mock.ts'),
    import('../run/outcomes.ts'),
    import('../run/names.ts'),
    import('../run/trace.ts'),
    import('../run/waits.ts'),
  ])
  const { nodes, types } = namesOf(given.definition)
  const known = new Set([...nodes, ...types])
  const outcomes =
    mock === true
      ? new Outcomes()
      : readOutcomes(mock, readText(mock), known, projectionOf(given.definition).terms.errorCategories)
  const began = performance.now()
  const flown = await dryRun({ ...given, outcomes, onStep: (step) => terminal.print(traceLine(terminal, step)) })
  try {
    const waits = (await waitsOf(flown.engine, flown.id)) ?? []
    const note = ` on the skipped clock (${span(performance.now() - began)} real)`
    return await end(terminal, flown.engine, flown.id, {
      waits,
      note,
      trace: flown.trace,
      interrupted: given.signal.aborted,
    })
  } finally {
    await flown.close()
  }
}

interface End {
  readonly waits: Parameters<typeof import('../run/ending.ts').projection>[2]
  readonly note: string
  readonly trace: readonly unknown[] | null
  readonly interrupted: boolean
}

async function end(
  terminal: Terminal,
  engine: Awaited<ReturnType<typeof connect>>,
  id: string,
  how: End,
): Promise<number> {
  const { exitOf, printEnding, projection } = await import('../run/ending.ts')
  const view = await engine.view(id)
  if (view === null) throw new CliError('not_found', `instance ${id} is gone`, 'was it pruned?')
  if (terminal.json) {
    const shown = await projection(engine, view, how.waits)
    terminal.data(how.trace === null ? shown : { ...shown, trace: how.trace })
  } else {
    await printEnding(terminal, engine, view, how)
    if (view.instance.endedAt === null) {
      const why = how.interrupted ? 'interrupted; ' : ''
      if (how.trace === null)
        terminal.print(`  ${why}it stays in the store: \`petrel watch ${id}\` follows it, --wait would have`)
      else terminal.print(`  ${why}nothing in this dry run brings it on`)
    }
  }
  return view.instance.endedAt === null ? EXIT.failed : exitOf(view.instance)
}
