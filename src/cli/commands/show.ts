import type { Command } from 'commander'
import type { EngineApi } from '../../engine/api.ts'
import type { InstanceRow, RunRow, StoredEvent } from '../../model/rows.ts'
import { type EventLog, type LogPlace, parsePlace } from '../../notations/interface/events.ts'
import type { Blocked, Sheet } from '../../notations/interface/sheet.ts'
import { projectionOf } from '../../notations/notations.ts'
import { operator } from '../../operations/caller.ts'
import { nodeResult } from '../../operations/instances/look.ts'
import type { InstanceView } from '../../views/view.ts'
import { count, span } from '../../views/words.ts'
import { eventWire } from '../../wire/event.ts'
import { runWire } from '../../wire/run.ts'
import type { Wire } from '../../wire/value.ts'
import { json } from '../../wire/value.ts'
import { namesAsked, rulesWords } from '../../wire/why-words.ts'
import { actor, runOrInstance } from '../lookup.ts'
import { withEngine } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { contextHint } from '../terminal/hints.ts'
import { painted, tableLines } from '../terminal/sheet.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { brief, clock, headline, instanceState, paintState, placeOf, runState } from '../terminal/words.ts'

interface ShowOptions extends Shared {
  readonly events?: boolean
  /** Where a page of events continues. */
  readonly after?: string
  readonly result?: string
}

const MOST_EVENTS = 1000

export function defineShow(program: Command): void {
  const command = program
    .command('show')
    .argument('<id>', 'instance or run')
    .description('show one instance (or run): state, runs, gates, results, errors')
    .option('--events', 'also the events; of a playbook in its own terms')
    .option('--after <place>', 'events after this one: continue where a page ended')
    .option('--result <node>', 'only the result of this node, all of it, as JSON')
  jsonOption(storeOptions(command)).action(
    act<ShowOptions, readonly [string]>((terminal, options, id) =>
      withEngine(options, async (engine) => {
        const found = await runOrInstance(engine, id)
        if ('run' in found) await showRun(terminal, engine, found.run)
        else if (options.result !== undefined) await showResult(terminal, engine, found.view, options.result)
        else await showInstance(terminal, engine, found.view, options)
        return EXIT.ok
      }),
    ),
  )
}

async function showInstance(
  terminal: Terminal,
  engine: EngineApi,
  view: InstanceView,
  options: ShowOptions,
): Promise<void> {
  const { projection } = await import('../run/ending.ts')
  const { waitsOf } = await import('../run/waits.ts')
  const { instance } = view
  const waits = instance.endedAt === null ? ((await waitsOf(engine, instance.id)) ?? []) : []
  const events = options.events === true ? await eventsOf(engine, instance, options.after) : null
  if (terminal.json) {
    terminal.data({ ...(await projection(engine, view, waits)), ...events?.wire })
    return
  }
  const now = await engine.queries.now()
  const sheet = (await projectionOf(instance).own?.(engine, instance))?.sheet(now) ?? null
  const state = sheet === null ? stateText(terminal, instance) : painted(terminal, sheet.state)
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
  const blocked = sheet?.blocked ?? null
  for (const wait of waits.filter(({ kind }) => blocked === null || kind !== 'held'))
    terminal.print(`waits    ${wait.text}`)
  if (sheet !== null) printSheet(terminal, sheet, instance.id)
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
    terminal.print(`child ${child.id}  ${child.name}  ${paintState(terminal, headline(child))}`)
  if (events === null) return
  terminal.print()
  events.print(terminal)
  if (events.next !== null)
    terminal.print(terminal.paint('dim', `more: petrel show ${instance.id} --events --after ${events.next}`))
}

function stateText(terminal: Terminal, instance: InstanceRow): string {
  return `${paintState(terminal, instance.state)}${instanceState(instance).slice(instance.state.length)}`
}

function printSheet(terminal: Terminal, { facts, blocked, failures, steps, more }: Sheet, id: string): void {
  for (const line of facts) terminal.print(painted(terminal, line))
  for (const token of blocked ?? []) for (const line of blockedLines(token, id)) terminal.print(line)
  for (const line of failures) terminal.print(painted(terminal, line))
  terminal.print()
  for (const line of tableLines(terminal, steps)) terminal.print(line)
  if (more !== null) terminal.print(more)
}

/** The rules that hold tokens, and the context that would admit them. */
function blockedLines({ step, tokens, state, rules }: Blocked, id: string): readonly string[] {
  const about = `blocked  ${harmless(step)}: ${count(tokens, 'token')}`
  const text = brief(rulesWords(rules), 200)
  if (state === 'discarded') return [`${about} left over when it completed (${text})`]
  return [`${about} held (${text})`, `         ${contextHint(id, namesAsked(rules))}`]
}

/** A stored result, to which a reference in a summary leads. */
async function showResult(
  terminal: Terminal,
  engine: EngineApi,
  { instance }: InstanceView,
  node: string,
): Promise<void> {
  const net = await engine.net(instance.netHash)
  const found = net?.nodes.find(({ key }) => key === node)
  if (net === null || found === undefined) {
    const known = net?.nodes.map(({ key }) => key) ?? []
    const { closest } = await import('../../kernel/reading/part.ts')
    const near = closest(node, known)
    const hint = near === null ? `nodes: ${known.slice(0, 20).join(', ')}` : `did you mean '${near}'?`
    throw new CliError('not_found', `${instance.name} has no node '${node}'`, hint, { node })
  }
  const { Operations } = await import('../../operations/operation.ts')
  const perform = new Operations({ engine, logger: null }).for(operator(actor()))
  terminal.data(json((await perform(nodeResult, { id: instance.id, node })).result))
}

interface ShownEvents {
  readonly wire: Wire
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null
  print(terminal: Terminal): void
}

async function eventsOf(engine: EngineApi, instance: InstanceRow, after: string | undefined): Promise<ShownEvents> {
  const place = parsePlace(after ?? '0')
  if (place === null) {
    throw new CliError('invalid_request', `'${after}' is no place in the events`, '--after what a page ended with')
  }
  const { events: log } = projectionOf(instance)
  if (log !== undefined) return ownEvents(engine, instance, log, place)
  const found = { instanceId: instance.id, afterSeq: place.seq, limit: MOST_EVENTS }
  const events = await engine.queries.instanceEvents(found)
  const last = events.at(-1)?.seq ?? null
  return {
    wire: { events: events.map(eventWire) },
    next: last !== null && last < instance.eventSeq ? String(last) : null,
    print: (terminal) => printHistory(terminal, events, instance.createdAt),
  }
}

async function ownEvents(
  engine: EngineApi,
  instance: InstanceRow,
  log: EventLog,
  after: LogPlace,
): Promise<ShownEvents> {
  const net = await engine.net(instance.netHash)
  if (net === null) throw new CliError('not_found', `the net of ${instance.id} is gone`, 'was it pruned?')
  const page = await log.page(engine, instance, net, { after, limit: MOST_EVENTS, types: null })
  const table = await log.table(page, instance.createdAt)
  return {
    wire: { ...page },
    next: page.has_more ? page.next_after : null,
    print: (terminal) => {
      for (const line of tableLines(terminal, table)) terminal.print(line)
    },
  }
}

function printHistory(terminal: Terminal, events: readonly StoredEvent[], since: number): void {
  terminal.table(
    [{ title: 'SEQ', align: 'right' }, { title: 'AT' }, { title: 'EVENT' }, { title: 'NODE' }, { title: 'DATA' }],
    events.map((e) => [
      String(e.seq ?? ''),
      `+${span(e.at - since)}`,
      e.type,
      e.node ?? '',
      e.data === null ? '' : brief(e.data, 80),
    ]),
  )
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
  const history = await engine.queries.runHistory(run.id)
  if (terminal.json)
    return terminal.data({ run: runWire(run), payload: json(run.payload), history: history.map(eventWire) })
  const now = await engine.queries.now()
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
