import type { Command } from 'commander'
import type { EngineApi, InstanceView } from '../../engine/api.ts'
import { eventWire, json, runWire } from '../../server/wire.ts'
import type { RunRow } from '../../store/rows.ts'
import { act, jsonOption, type Shared, storeOptions } from '../act.ts'
import { withEngine } from '../connect.ts'
import { EXIT } from '../failure.ts'
import { runOrInstance } from '../lookup.ts'
import type { Terminal } from '../terminal.ts'
import { brief, clock, instanceState, paintState, placeOf, runState, span } from '../words.ts'

interface ShowOptions extends Shared {
  readonly events?: boolean
}

export function defineShow(program: Command): void {
  const command = program
    .command('show')
    .argument('<id>', 'instance or run')
    .description('show one instance (or run): state, runs, gates, results, errors')
    .option('--events', 'the events too')
  jsonOption(storeOptions(command)).action(
    act<ShowOptions, readonly [string]>((terminal, options, id) =>
      withEngine(options, async (engine) => {
        const found = await runOrInstance(engine, id)
        if ('run' in found) await showRun(terminal, engine, found.run)
        else await showInstance(terminal, engine, found.view, options.events === true)
        return EXIT.ok
      }),
    ),
  )
}

async function showInstance(
  terminal: Terminal,
  engine: EngineApi,
  view: InstanceView,
  withEvents: boolean,
): Promise<void> {
  const { projection } = await import('../run/ending.ts')
  const { waitsOf } = await import('../run/waits.ts')
  const { dagView, printDag, printDagState } = await import('../dag-view.ts')
  const { instance } = view
  const waits = instance.endedAt === null ? ((await waitsOf(engine, instance.id)) ?? []) : []
  const events = withEvents
    ? await engine.store.read.instanceEvents({ instanceId: instance.id, afterSeq: 0, limit: 1000 })
    : []
  if (terminal.json) {
    const shown = await projection(engine, view, waits)
    terminal.data(withEvents ? { ...shown, events: events.map(eventWire) } : shown)
    return
  }
  const dag = await dagView(engine, instance)
  const now = await engine.store.now()
  const core = instanceState(instance)
  const state =
    dag === null
      ? `${paintState(terminal, instance.state)}${core.slice(instance.state.length)}`
      : printDagState(terminal, dag)
  terminal.print(`${terminal.paint('bold', instance.name)}  ${state}  ${terminal.paint('dim', instance.dialect)}`)
  terminal.print(`id       ${instance.id}`)
  terminal.print(`created  ${clock(instance.createdAt)}`)
  if (instance.endedAt !== null)
    terminal.print(`ended    ${clock(instance.endedAt)}, after ${span(instance.endedAt - instance.createdAt)}`)
  if (instance.parentId !== null)
    terminal.print(`parent   ${instance.parentId} at ${instance.parentNode ?? 'detached'}`)
  if (instance.retryOf !== null) terminal.print(`retry of ${instance.retryOf}`)
  if (view.error !== null) terminal.print(`error    ${view.error.code}: ${brief(view.error.message, 200)}`)
  if (view.undoError !== null) terminal.print(`undo     ${view.undoError.code}: ${brief(view.undoError.message, 200)}`)
  for (const wait of waits) terminal.print(`waits    ${wait.text}`)
  if (dag !== null) printDag(terminal, dag, now)
  else if (view.runs.length > 0) {
    terminal.print()
    printRuns(terminal, view.runs, now)
  }
  for (const gate of view.gates) {
    terminal.print(
      `gate ${gate.id}  ${gate.node}  ${paintState(terminal, gate.state)}${gate.answeredBy === null ? '' : ` by ${gate.answeredBy}`}${gate.reason === null ? '' : `: ${brief(gate.reason)}`}`,
    )
  }
  for (const child of view.children)
    terminal.print(`child ${child.id}  ${child.name}  ${paintState(terminal, instanceState(child))}`)
  if (withEvents) {
    terminal.print()
    terminal.table(
      [{ title: 'SEQ', align: 'right' }, { title: 'AT' }, { title: 'EVENT' }, { title: 'NODE' }, { title: 'DATA' }],
      events.map((e) => [
        String(e.seq ?? ''),
        `+${span(e.at - instance.createdAt)}`,
        e.type,
        e.node ?? '',
        e.data === null ? '' : brief(e.data, 80),
      ]),
    )
  }
}

function printRuns(terminal: Terminal, runs: readonly RunRow[], now: number): void {
  terminal.table(
    [
      { title: 'NODE' },
      { title: 'TYPE' },
      { title: 'STATE' },
      { title: 'ATTEMPT', align: 'right' },
      { title: 'TOOK' },
      { title: 'RESULT OR ERROR' },
    ],
    runs.map((run) => [
      placeOf(run),
      run.type,
      paintState(terminal, runState(run, now)),
      String(run.status === 'failed' ? Math.max(1, run.attempt) : run.attempt + (run.startedAt === null ? 0 : 1)),
      run.startedAt === null ? '' : span((run.finishedAt ?? now) - run.startedAt),
      run.status === 'succeeded' ? brief(json(run.result) ?? null) : brief(run.lastError ?? ''),
    ]),
  )
}

async function showRun(terminal: Terminal, engine: EngineApi, run: RunRow): Promise<void> {
  const history = await engine.store.read.runHistory(run.id)
  if (terminal.json)
    return terminal.data({ run: runWire(run), payload: json(run.payload), history: history.map(eventWire) })
  const now = await engine.store.now()
  terminal.print(
    `${terminal.paint('bold', run.type)}  ${paintState(terminal, runState(run, now))}${run.deadLetter ? '  dead letter' : ''}`,
  )
  terminal.print(`id        ${run.id}`)
  if (run.instanceId !== null) terminal.print(`instance  ${run.instanceId} at ${placeOf(run)}`)
  terminal.print(`queue     ${run.queue}, priority ${run.priority}`)
  terminal.print(`payload   ${brief(run.payload, 200)}`)
  if (run.result !== null) terminal.print(`result    ${brief(run.result, 200)}`)
  if (run.lastError !== null) terminal.print(`error     ${brief(run.lastError, 200)}`)
  terminal.print()
  terminal.table(
    [{ title: 'AT' }, { title: 'EVENT' }, { title: 'BY' }, { title: 'DATA' }],
    history.map((e) => [clock(e.at), e.type, e.actor ?? '', e.data === null ? '' : brief(e.data, 80)]),
  )
}
