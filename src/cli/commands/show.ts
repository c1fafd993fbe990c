import type { Command } from 'commander'
import type { InstanceRow, RunRow, StoredEvent } from '../../model/rows.ts'
import { parsePlace } from '../../notations/interface/events.ts'
import type { Blocked, Sheet } from '../../notations/interface/sheet.ts'
import { projectionOf } from '../../notations/notations.ts'
import { storeTime } from '../../operations/clock.ts'
import { listEvents, listExecutionEvents } from '../../operations/instances/history.ts'
import { explainInstance, instanceNet, nodeResult } from '../../operations/instances/look.ts'
import type { Perform } from '../../operations/operation.ts'
import { wholeRunHistory } from '../../operations/runs/look.ts'
import type { InstanceView } from '../../views/view.ts'
import { count, span } from '../../views/words.ts'
import { eventWire } from '../../wire/event.ts'
import { runWire } from '../../wire/run.ts'
import type { Wire } from '../../wire/value.ts'
import { json } from '../../wire/value.ts'
import { aboutWords, namesAsked, rulesWords } from '../../wire/why-words.ts'
import { runOrInstance } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import type { ShellReading } from '../run/reading.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { contextHint } from '../terminal/hints.ts'
import { moments } from '../terminal/moments.ts'
import { painted, tableLines } from '../terminal/sheet.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { brief, clock, headline, instanceState, paintState, placeOf, runState } from '../terminal/words.ts'

interface ShowOptions extends Shared {
  readonly events?: boolean
  /** Where a page of events continues. */
  readonly after?: string
  readonly result?: string
  /** Where a page of runs and children continues. */
  readonly page?: string
}

const MOST_EVENTS = 1000

export function defineShow(program: Command): void {
  const command = program
    .command('show')
    .argument('<id>', 'instance or run')
    .description('show one instance (or run): state, runs, gates, results, errors')
    .option('--events', 'also the events; of a playbook in its own terms')
    .option('--after <place>', 'events after this one: continue where a page ended')
    .option('--page <place>', 'further runs and children: continue where a page ended')
    .option('--result <node>', 'only the result of this node, all of it, as JSON')
  jsonOption(storeOptions(command)).action(
    act<ShowOptions, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform, reading) => {
        const found = await runOrInstance(perform, id, options.page)
        if ('run' in found) await showRun(terminal, perform, found.run)
        else if (options.result !== undefined) await showResult(terminal, perform, found.view, options.result)
        else await showInstance(terminal, { perform, reading }, found.view, options)
        return EXIT.ok
      }),
    ),
  )
}

async function showInstance(
  terminal: Terminal,
  { perform, reading }: { readonly perform: Perform; readonly reading: ShellReading },
  view: InstanceView,
  options: ShowOptions,
): Promise<void> {
  const { projection } = await import('../run/ending.ts')
  const { waitsOf } = await import('../run/waits.ts')
  const { instance } = view
  const waits = instance.endedAt === null ? ((await waitsOf(reading, instance.id)) ?? []) : []
  const events = options.events === true ? await eventsOf(perform, instance, options.after) : null
  if (terminal.json) {
    terminal.data({ ...(await projection(reading, view, waits)), ...events?.wire })
    return
  }
  const now = await perform(storeTime, null)
  const sheet = (await projectionOf(instance).own?.(reading, instance))?.sheet(now) ?? null
  const state = sheet === null ? stateText(terminal, instance) : painted(terminal, sheet.state)
  terminal.print(`${terminal.paint('bold', instance.name)}  ${state}  ${terminal.paint('dim', instance.dialect)}`)
  terminal.print(`id       ${instance.id}`)
  terminal.print(`created  ${clock(instance.createdAt)}`)
  if (instance.endedAt !== null)
    terminal.print(`ended    ${clock(instance.endedAt)}, after ${span(instance.endedAt - instance.createdAt)}`)
  if (instance.parentId !== null)
    terminal.print(`parent   ${instance.parentId} at ${instance.parentNode ?? 'detached'}`)
  if (instance.retryOf !== null) terminal.print(`retry of ${instance.retryOf}`)
  for (const reason of instance.endedAt === null ? await pausesOf(perform, instance) : [])
    terminal.print(`paused   ${harmless(reason)}`)
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
  if (view.next !== null) terminal.print(terminal.paint('dim', `more: petrel show ${instance.id} --page ${view.next}`))
  if (events === null) return
  terminal.print()
  events.print(terminal)
  if (events.next !== null)
    terminal.print(terminal.paint('dim', `more: petrel show ${instance.id} --events --after ${events.next}`))
}

/** By whom, since when and why its tree is paused, or new instances of its definition. */
async function pausesOf(perform: Perform, { id }: InstanceRow): Promise<readonly string[]> {
  const { about, now } = await perform(explainInstance, { id, after: null, limit: 1 })
  return about.filter(({ kind }) => kind === 'paused').map((reason) => aboutWords(reason, moments(now)))
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
  perform: Perform,
  { instance }: InstanceView,
  node: string,
): Promise<void> {
  const { id } = instance
  const { net } = await perform(instanceNet, { id })
  if (!net.nodes.some(({ key }) => key === node)) {
    const known = net.nodes.map(({ key }) => key)
    const { closest } = await import('../../kernel/reading/part.ts')
    const near = closest(node, known)
    const hint = near === null ? `nodes: ${known.slice(0, 20).join(', ')}` : `did you mean '${near}'?`
    throw new CliError('not_found', `${instance.name} has no node '${node}'`, hint, { node })
  }
  terminal.data(json((await perform(nodeResult, { id, node })).result))
}

interface ShownEvents {
  readonly wire: Wire
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null
  print(terminal: Terminal): void
}

async function eventsOf(perform: Perform, instance: InstanceRow, after: string | undefined): Promise<ShownEvents> {
  const place = parsePlace(after ?? '0')
  if (place === null) {
    throw new CliError('invalid_request', `'${after}' is no place in the events`, '--after what a page ended with')
  }
  const { id, createdAt } = instance
  const { events: log } = projectionOf(instance)
  if (log !== undefined) {
    const page = await perform(listExecutionEvents, { id, after: place, limit: MOST_EVENTS, types: null })
    const table = await log.table(page, createdAt)
    return {
      wire: { ...page },
      next: page.has_more ? page.next_after : null,
      print: (terminal) => {
        for (const line of tableLines(terminal, table)) terminal.print(line)
      },
    }
  }
  const { events, workers, next, more } = await perform(listEvents, { id, after: place.seq, limit: MOST_EVENTS })
  return {
    wire: { events: events.map((event) => eventWire(event, workers.get(event.id))) },
    next: more ? String(next) : null,
    print: (terminal) => printHistory(terminal, events, workers, createdAt),
  }
}

function printHistory(
  terminal: Terminal,
  events: readonly StoredEvent[],
  workers: ReadonlyMap<number, string>,
  since: number,
): void {
  terminal.table(
    [
      { title: 'SEQ', align: 'right' },
      { title: 'AT' },
      { title: 'EVENT' },
      { title: 'NODE' },
      { title: 'BY' },
      { title: 'DATA' },
    ],
    events.map((e) => [
      String(e.seq ?? ''),
      `+${span(e.at - since)}`,
      e.type,
      e.node ?? '',
      harmless(workers.get(e.id) ?? eventWire(e).actor ?? ''),
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

async function showRun(terminal: Terminal, perform: Perform, run: RunRow): Promise<void> {
  const history = await perform(wholeRunHistory, { id: run.id })
  if (terminal.json)
    return terminal.data({
      run: runWire(run),
      payload: json(run.payload),
      history: history.map((event) => eventWire(event)),
    })
  const now = await perform(storeTime, null)
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
