/** What `petrel run` prints about an execution, line by line. */

import type { EventType } from '../../../model/events/events.ts'
import type { RunRow, StoredEvent } from '../../../model/rows.ts'
import type { Net } from '../../../net/net.ts'
import { plainOutcome, type Trace, type TracedData } from '../../interface/trace.ts'
import { toolsOf } from './tools.ts'
import { isStep } from './words.ts'

/** Outcomes that a playbook names differently, or that only playbooks show. */
const OUTCOMES: { readonly [T in EventType]?: string } = {
  succeeded: 'done',
  returned: 'postponed',
  'node.fired': 'done',
  'each.opened': 'loop started',
  'each.closed': 'loop done',
  'instance.waiting': 'waiting',
}

/** Items of longer loops are summarised in numbers, and shown one by one only if something went wrong. */
const MOST_ITEMS = 100

export function traceOf(net: Net): Trace {
  const tools = new Map(net.nodes.map((node) => [node.key, toolsOf(node)]))
  /** Lengths of the loops under way, by step. */
  const loops = new Map<string, number>()
  return {
    outcome: (event, data, run) => outcomeOf(event, data, run, loops),
    toolsAt: (node) => tools.get(node),
  }
}

function outcomeOf(
  event: StoredEvent,
  data: TracedData,
  run: RunRow | undefined,
  loops: Map<string, number>,
): string | undefined {
  const { type, node } = event
  if (node !== null && !isStep(node)) return undefined
  if (type === 'each.opened' && node !== null) loops.set(node, data.total ?? 0)
  if (type === 'node.fired' && data.kind !== 'pass') return undefined
  // Its first run has begun; its first line shows that it was started.
  if (type === 'instance.started') return undefined
  if (type === 'returned' && data.run_at === undefined) return undefined
  if (type === 'instance.completed') return data.outcome === 'partial' ? 'partial' : 'success'
  const item = run !== undefined && run.item >= 0
  if (item && type === 'succeeded' && (loops.get(run.node ?? '') ?? 0) > MOST_ITEMS) return undefined
  return OUTCOMES[type as EventType] ?? plainOutcome(event)
}
