/** Stored events as telemetry. Few statements, however many events; more only for events with a summary. */

import type { EventType } from '../../../model/events/events.ts'
import type { GateRow, InstanceRow, StoredEvent } from '../../../model/rows.ts'
import { type CompiledNet, indexNet } from '../../../net/compile.ts'
import type { Json, Net } from '../../../net/net.ts'
import { SLOT, type SlotKey } from '../../../net/slots.ts'
import { loadSteps } from '../../../views/steps.ts'
import type { Reading } from '../../interface/projection.ts'
import { type Cost, costOf } from './cost.ts'
import { MOST_NESTED, nestedIds } from './load.ts'
import { type Execution, type StepFailure, type TelemetryEvent, telemetryOf } from './telemetry.ts'

interface About {
  readonly meta?: {
    readonly correlationId?: unknown
    readonly domainsInvolved?: unknown
    readonly trigger?: Json
  } | null
}

/** In the given order; events of other notations, or without telemetry, are left out. */
export async function loadTelemetry(
  reading: Reading,
  events: readonly StoredEvent[],
): Promise<readonly TelemetryEvent[]> {
  const { queries } = reading
  const ids = new Set(events.flatMap(({ instanceId }) => instanceId ?? []))
  const around = ids.size === 0 ? [] : await queries.trees.ancestors({ ids: [...ids] })
  const rows = new Map(around.map((row) => [row.id, row]))
  const ours = events.filter(({ instanceId }) => rows.get(instanceId ?? '')?.dialect === 'dag')
  const gated = ours.filter(({ type, node }) => node !== null && type.startsWith('gate.'))
  const ended = ours.filter(({ type }) => NEEDS_REASON.has(type))
  const [runs, gates, nets, executions, slots] = await Promise.all([
    queries.trees.briefs({ ids: [...new Set(ours.flatMap(({ runId }) => runId ?? []))], maxBytes: 0 }),
    queries.steps.gatesAt(gated.map(({ instanceId, node }) => ({ instanceId: instanceId ?? '', node: node ?? '' }))),
    netsOf(reading, ours, rows),
    executionsOf(reading, around),
    ended.length === 0
      ? []
      : queries.trees.slotsOf({ instanceIds: ended.map((e) => e.instanceId ?? ''), prefixes: [SLOT.error.prefix] }),
  ])
  const kept = new Map(slots.map(({ instanceId, key, value }) => [`${instanceId}/${key}`, value]))
  const failureAt = (event: StoredEvent, key: SlotKey): StepFailure | null => {
    const text = NEEDS_REASON.has(event.type) ? kept.get(`${event.instanceId}/${key}`) : undefined
    return text === undefined ? null : (JSON.parse(text) as StepFailure)
  }
  const rejected = await rejectedGates(reading, ours, failureAt)
  const byRun = new Map(runs.map((run) => [run.id, run]))
  const byGate = new Map(gates.map((gate) => [`${gate.instanceId}/${gate.node}`, gate]))
  const telemetry: TelemetryEvent[] = []
  for (const event of ours) {
    const instance = rows.get(event.instanceId ?? '') as InstanceRow
    const net = nets.get(instance.netHash)
    const execution = executions.get(instance.rootId)
    if (net === undefined || execution === undefined) continue
    const lines = telemetryOf({
      event,
      instance,
      net: net.net,
      node: event.node === null ? null : (net.byKey.get(event.node) ?? null),
      execution,
      run: byRun.get(event.runId ?? '') ?? null,
      gate: byGate.get(`${event.instanceId}/${event.node}`) ?? null,
      rejected: rejected.get(event.instanceId ?? '') ?? null,
      error: failureAt(event, SLOT.error.key),
      undoError: failureAt(event, SLOT.undoError.key),
      cost: ENDS_WELL.has(event.type) ? await costBelow(reading, instance) : null,
      compensationSteps: event.type === 'instance.draining' ? await undoneSteps(reading, net, instance) : [],
    })
    telemetry.push(...lines)
  }
  return telemetry
}

/** Of instances that stopped waiting and failed with a rejection: the gate that was rejected. */
async function rejectedGates(
  reading: Reading,
  events: readonly StoredEvent[],
  failureAt: (event: StoredEvent, key: SlotKey) => StepFailure | null,
): Promise<ReadonlyMap<string, GateRow>> {
  const places = events.flatMap((event) => {
    const error = event.type === 'instance.resumed' ? failureAt(event, SLOT.error.key) : null
    return error?.code === 'rejected' ? [{ instanceId: event.instanceId ?? '', node: error.node ?? '' }] : []
  })
  const gates = places.length === 0 ? [] : await reading.queries.steps.gatesAt(places)
  return new Map(gates.map((gate) => [gate.instanceId, gate]))
}

/** The telemetry of these depends on why the instance failed. */
const NEEDS_REASON: ReadonlySet<string> = new Set<EventType>([
  'instance.failed',
  'instance.cancelled',
  'instance.resumed',
])
const ENDS_WELL: ReadonlySet<string> = new Set<EventType>(['instance.completed', 'instance.compensated'])
const indexed = new WeakMap<Net, CompiledNet>()

async function netsOf(
  reading: Reading,
  events: readonly StoredEvent[],
  rows: ReadonlyMap<string, InstanceRow>,
): Promise<ReadonlyMap<string, CompiledNet>> {
  const nets = new Map<string, CompiledNet>()
  for (const hash of new Set(events.map(({ instanceId }) => rows.get(instanceId ?? '')?.netHash ?? ''))) {
    const net = await reading.net(hash)
    if (net === null) continue
    const known = indexed.get(net) ?? indexNet(net)
    indexed.set(net, known)
    nets.set(hash, known)
  }
  return nets
}

/** By root: the values at the start of the outermost workflow apply to everything nested in it. */
async function executionsOf(reading: Reading, rows: readonly InstanceRow[]): Promise<ReadonlyMap<string, Execution>> {
  const roots = rows.filter((row) => row.id === row.rootId)
  const slots =
    roots.length === 0
      ? []
      : await reading.queries.trees.slotsOf({ instanceIds: roots.map(({ id }) => id), prefixes: [SLOT.about.prefix] })
  const abouts = new Map(slots.map(({ instanceId, value }) => [instanceId, JSON.parse(value) as About]))
  return new Map(roots.map((root) => [root.id, executionOf(root, abouts.get(root.id) ?? {})]))
}

export function executionOf(root: Pick<InstanceRow, 'id' | 'name'>, { meta }: About): Execution {
  const given = meta?.domainsInvolved
  const domains = Array.isArray(given) ? given.filter((domain) => typeof domain === 'string') : []
  const { correlationId } = meta ?? {}
  return {
    domain: domains[0] ?? root.name,
    domainsInvolved: domains,
    trigger: meta?.trigger ?? { kind: 'manual' },
    correlationId: typeof correlationId === 'string' && correlationId !== '' ? correlationId : root.id,
  }
}

async function costBelow(reading: Reading, instance: InstanceRow): Promise<Cost> {
  const ids = await nestedIds(reading, instance.id, MOST_NESTED)
  return costOf(await reading.queries.steps.usages({ instanceIds: ids }))
}

/** The last completed first. Steps that were active when it began to stop, and succeeded, are included. */
async function undoneSteps(reading: Reading, net: CompiledNet, instance: InstanceRow): Promise<readonly string[]> {
  const nodes = net.net.nodes.filter(({ undo }) => undo !== null)
  const steps = (await loadSteps(reading.queries, net, instance, nodes)).filter(({ state }) => state === 'completed')
  const order = (a: (typeof steps)[number], b: (typeof steps)[number]): number =>
    (b.endedAt ?? 0) - (a.endedAt ?? 0) || (b.run?.doneSeq ?? 0) - (a.run?.doneSeq ?? 0)
  return steps.sort(order).map(({ node }) => node.key)
}
