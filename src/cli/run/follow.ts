/**
 * Follows an instance until it ends: on a terminal as a block that redraws itself, otherwise as one line per step, with
 * --json as one event per line. Children are followed too, as far as a person could read them.
 */

import { sleep } from '../../kernel/sleep.ts'
import type { InstanceRow, StoredEvent } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import { projectionOf } from '../../notations/notations.ts'
import { eventWire } from '../../wire/event.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { progressLines } from './progress.ts'
import type { ShellReading } from './reading.ts'
import { Tracer, traceLine } from './trace.ts'

const DRAW_MS = 120
const LOOK_MS = 50
const FOLLOWED = 200
const PORTION = 500

export interface Following {
  readonly reading: ShellReading
  readonly terminal: Terminal
  readonly id: string
  readonly signal: AbortSignal
  /** Events are printed as JSON records; without it, --json prints nothing until the end. */
  readonly records?: boolean
}

/** Returns the row as it ended, or as it was at the signal. */
export async function follow(params: Following): Promise<InstanceRow> {
  const { reading, id } = params
  const first = await reading.queries.instance(id)
  if (first === null) throw new Error(`instance ${id} is gone`)
  if (params.terminal.live) await drawUntilEnd(params)
  else if (!params.terminal.json || params.records === true) await tellUntilEnd(params, first)
  else await untilEnd(params)
  return (await reading.queries.instance(id)) ?? first
}

async function untilEnd({ reading, id, signal }: Following): Promise<void> {
  await unlessAborted(signal, () => reading.ended({ id, kind: 'instance', signal }))
}

async function drawUntilEnd({ reading, terminal, id, signal }: Following): Promise<void> {
  const block = terminal.redraw()
  let ended = false
  const end = unlessAborted(signal, () => reading.ended({ id, kind: 'instance', signal })).then(() => {
    ended = true
  })
  while (!ended && !signal.aborted) {
    block.draw(await progressLines(terminal, reading, id))
    await Promise.race([end, pause(DRAW_MS)])
  }
  await end
  block.draw(await progressLines(terminal, reading, id))
  block.keep()
}

interface Followed {
  readonly id: string
  seq: number
  ended: boolean
}

async function tellUntilEnd({ reading, terminal, id, signal }: Following, root: InstanceRow): Promise<void> {
  const followed: Followed[] = [{ id, seq: 0, ended: false }]
  const tracer = new Tracer(reading.queries, root)
  const tell = async (events: readonly StoredEvent[]): Promise<void> => {
    if (terminal.json) for (const record of await records(reading, events)) terminal.record(record)
    else for (const step of await tracer.steps(events)) terminal.print(traceLine(terminal, step))
  }
  for (;;) {
    // Read before its events: events that come after the end have then been printed.
    for (const one of followed.filter((f) => !f.ended)) {
      const row = await reading.queries.instance(one.id)
      await tellNew(reading, one, tell)
      if (row === null || TERMINAL.has(row.state)) one.ended = true
      if (followed.length < FOLLOWED) addChildren(followed, await reading.queries.children(one.id))
    }
    if (followed[0]?.ended === true || signal.aborted) return
    await pause(LOOK_MS)
  }
}

/** In the words of the notation: one line of the history may be several events, or none. */
async function records(reading: ShellReading, events: readonly StoredEvent[]): Promise<readonly object[]> {
  const id = events[0]?.instanceId ?? null
  const row = id === null ? null : await reading.queries.instance(id)
  const log = row === null ? undefined : projectionOf(row).events
  const net = row === null || log === undefined ? null : await reading.net(row.netHash)
  return row === null || net === null || log === undefined
    ? events.map((event) => eventWire(event))
    : log.of(reading, row, net, events)
}

async function tellNew(
  reading: ShellReading,
  one: Followed,
  tell: (events: readonly StoredEvent[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const events = await reading.queries.instanceEvents({ instanceId: one.id, afterSeq: one.seq, limit: PORTION })
    await tell(events)
    one.seq = events.at(-1)?.seq ?? one.seq
    if (events.length === 0) return
  }
}

function addChildren(followed: Followed[], children: readonly InstanceRow[]): void {
  for (const child of children) {
    if (followed.length < FOLLOWED && !followed.some((f) => f.id === child.id))
      followed.push({ id: child.id, seq: 0, ended: false })
  }
}

async function unlessAborted(signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

export function pause(ms: number): Promise<void> {
  return sleep(ms)
}
