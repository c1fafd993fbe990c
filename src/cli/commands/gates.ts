/** gates ls | show: pending approvals. link: a signed link by which one person decides. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { readId } from '../../kernel/ids.ts'
import type { GateView } from '../../model/gates.ts'
import { gateOptions, standingOf } from '../../model/gates.ts'
import type { GateRow } from '../../model/rows.ts'
import { isOmitted } from '../../model/shown.ts'
import { storeTime } from '../../operations/clock.ts'
import { listGates, makeGateLink, showGate } from '../../operations/gates/gates.ts'
import { span } from '../../views/words.ts'
import { GATE_STATES, gateViewWire, gateWire } from '../../wire/gate.ts'
import { noSuch } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { spanMs } from '../terminal/span.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { ago, brief, clock, paintState } from '../terminal/words.ts'

interface ListOptions extends Shared {
  readonly state: readonly string[]
  readonly instance?: string
  readonly limit: number
}

interface LinkOptions extends Shared {
  readonly subject: string
  readonly role?: readonly string[]
  readonly expires: number
  readonly url: string
}

const WEEK_MS = 7 * 86_400_000

export function defineGates(program: Command): void {
  const gates = program.command('gates').description('pending decisions: ls, show')
  const ls = gates
    .command('ls', { isDefault: true })
    .description('list gates, newest first')
    .option('--state <states>', `comma-separated: ${GATE_STATES.join(', ')}, or all`, states, ['open'])
    .option('--instance <id>', 'only of this instance')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 50)
  jsonOption(storeOptions(ls)).action(
    act<ListOptions>((terminal, options) =>
      withOperations(options, async (perform) => {
        const { instance = null, limit, state } = options
        const instanceId = instance === null ? null : readId(instance)
        if (instance !== null && instanceId === null) throw noSuch('instance', instance)
        const states = state.includes('all') ? null : state
        const { rows } = await perform(listGates, { instanceId, states, limit, before: null })
        if (terminal.json) terminal.data({ gates: rows.map(gateWire) })
        else list(terminal, rows, await perform(storeTime, null))
        return EXIT.ok
      }),
    ),
  )
  const show = gates.command('show').argument('<gate>', 'gate id').description('the state of a gate, with its votes')
  jsonOption(storeOptions(show)).action(
    act<Shared, readonly [string]>((terminal, options, gateId) =>
      withOperations(options, async (perform) => {
        const view = await perform(showGate, { id: gateId })
        if (terminal.json) terminal.data({ gate: gateViewWire(view) })
        else print(terminal, view, await perform(storeTime, null))
        return EXIT.ok
      }),
    ),
  )
}

export function defineLink(program: Command): void {
  const command = program
    .command('link')
    .argument('<gate>', 'gate id')
    .description('make a link by which one person decides a gate, once')
    .requiredOption('--subject <name>', 'the person who decides with it')
    .option('--role <roles...>', 'roles of the subject')
    .addOption(
      new Option('--expires <span>', 'valid for this long, such as 12h or 7d').argParser(spanMs).default(WEEK_MS, '7d'),
    )
    .option('--url <base>', 'address at which the person reaches the server', baseUrl, 'http://localhost:7070')
  jsonOption(storeOptions(command)).action(
    act<LinkOptions, readonly [string]>((terminal, options, gateId) =>
      withOperations(options, async (perform) => {
        const { subject, role: roles = [], expires, url: base } = options
        const expiresInSeconds = Math.ceil(expires / 1000)
        const made = await perform(makeGateLink, { id: gateId, subject, roles, expiresInSeconds })
        const url = base + made.path
        const expiresAt = new Date(made.expiresAt).toISOString()
        if (terminal.json) terminal.data({ url, path: made.path, link: made.id, expires_at: expiresAt })
        else {
          terminal.print(url)
          terminal.error(`The holder of this link decides as ${subject}, once, until ${clock(made.expiresAt)}.`)
        }
        return EXIT.ok
      }),
    ),
  )
}

function list(terminal: Terminal, rows: readonly GateRow[], now: number): void {
  if (rows.length === 0) return terminal.print('no gates')
  terminal.table(
    [
      { title: 'GATE' },
      { title: 'NODE' },
      { title: 'STATE' },
      { title: 'VOTES' },
      { title: 'DUE' },
      { title: 'TITLE' },
    ],
    rows.map((gate) => {
      const votes = isOmitted(gate.options) || isOmitted(gate.votes) ? '…' : votesWords(gate)
      const due = gate.state !== 'open' || gate.dueAt === null ? '–' : `in ${span(Math.max(0, gate.dueAt - now))}`
      const title = gateOptions(gate.options).title ?? ''
      return [gate.id, gate.node, paintState(terminal, gate.state), votes, due, brief(title, 40)]
    }),
  )
}

function votesWords(gate: GateRow): string {
  const { approvals, quorum } = standingOf(gate, [])
  return `${approvals}/${quorum}`
}

function print(terminal: Terminal, { gate, instance, standing }: GateView, now: number): void {
  const { options, votes, quorum, approvals, roles, missing, excluded } = standing
  const line = (name: string, value: string): void => terminal.print(`${name.padEnd(10)} ${harmless(value)}`)
  terminal.print(`${harmless(options.title ?? gate.node)}  ${paintState(terminal, gate.state)}`)
  if (options.description !== undefined) terminal.print(harmless(options.description))
  line('instance', `${instance.name} ${instance.id}, node ${gate.node}`)
  line('approvals', `${approvals} of ${quorum}`)
  if (gate.state === 'open') {
    if (missing !== null) line('missing', missing.join(', ') || 'no named voter')
    if (roles !== null) line('roles', roles.join(', '))
    if (excluded.length > 0) line('not', excluded.join(', '))
    if (gate.dueAt !== null) line('due', `in ${span(Math.max(0, gate.dueAt - now))}, then ${gate.onTimeout}`)
    if (gate.escalateAt !== null) line('escalates', `in ${span(Math.max(0, gate.escalateAt - now))}`)
  }
  for (const { by, approved, at, reason } of votes) {
    const word = paintState(terminal, approved ? 'approved' : 'rejected')
    terminal.print(
      `${harmless(by ?? 'an unnamed person')} ${word} ${ago(at, now)}${reason === null ? '' : `: ${brief(reason)}`}`,
    )
  }
  if (gate.state === 'open') terminal.print(terminal.paint('dim', `petrel approve ${gate.id}`))
}

function states(text: string): readonly string[] {
  const given = text.split(',').filter(Boolean)
  const wrong = given.find((state) => ![...GATE_STATES, 'all'].includes(state))
  if (wrong === undefined) return given
  throw new InvalidArgumentError(`there is no state '${wrong}'; one of ${GATE_STATES.join(', ')}, all.`)
}

function baseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:\/\/[^?#]+$/.test(text)) return text.replace(/\/+$/, '')
  throw new InvalidArgumentError('an address such as https://petrel.example.com.')
}
