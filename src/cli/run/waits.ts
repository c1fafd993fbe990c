/** What an instance waits for when nothing in it can continue by itself. */
import { toolsOfType, typeMatcher } from '../../kernel/type-filters.ts'
import type { RuntimeRow } from '../../model/registry.ts'
import { type InstanceRow, PARKED_AT, type RunRow, type WorkerRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import { SLOT } from '../../net/slots.ts'
import { json } from '../../wire/value.ts'
import { namesAsked, rulesWords } from '../../wire/why-words.ts'
import { contextHint } from '../terminal/hints.ts'
import { brief, placeOf } from '../terminal/words.ts'
import type { ShellReading } from './reading.ts'

export interface Wait {
  readonly kind: 'gate' | 'held' | 'completion' | 'worker' | 'queue' | 'registry' | 'paused'
  /** The name to use when answering it: a gate, a run, a node, a type or a queue. */
  readonly id: string
  readonly instance: string
  readonly node: string | null
  readonly text: string
}

/** Instances and runs read per query: enough to find what holds up one workflow. */
const LOOKED_AT = 500

/** null: something still moves (a run is active, is due, or will be). */
export async function waitsOf(reading: ShellReading, rootId: string): Promise<readonly Wait[] | null> {
  const { queries } = reading
  const now = await reading.queries.now()
  const [workers, queues, listed] = await Promise.all([
    queries.workers(),
    queries.queuesPaused(),
    reading.registry.list(),
  ])
  const alive = workers.filter((w) => w.state === 'running' && w.expiresAt > now)
  const paused = new Set([...queues].filter(([, stopped]) => stopped).map(([name]) => name))
  const registry = new Map(listed.map((row) => [row.workflowName, row]))
  const waits: Wait[] = []
  for (const instance of await openTree(reading, rootId)) {
    if (instance.more) return null
    for (const run of await queries.instanceRuns({ instanceId: instance.id, limit: LOOKED_AT, after: null })) {
      if (run.status !== 'pending' && run.status !== 'leased') continue
      const wait = waitOfRun(run, now, { alive, paused, registry })
      if (wait === null) return null
      waits.push(wait)
    }
    waits.push(...(await waitsOfTokens(reading, instance)))
  }
  return waits
}

async function openTree(reading: ShellReading, rootId: string): Promise<readonly InstanceRow[]> {
  const root = await reading.queries.instance(rootId)
  const open: InstanceRow[] = []
  const todo = root === null ? [] : [root]
  for (let row = todo.pop(); row !== undefined && open.length < LOOKED_AT; row = todo.pop()) {
    if (TERMINAL.has(row.state)) continue
    open.push(row)
    todo.push(...(await reading.queries.children(row.id)))
  }
  return open
}

interface Rules {
  readonly alive: readonly WorkerRow[]
  readonly paused: ReadonlySet<string>
  readonly registry: ReadonlyMap<string, RuntimeRow>
}

function waitOfRun(run: RunRow, now: number, { alive, paused, registry }: Rules): Wait | null {
  const at = { instance: run.instanceId ?? '', node: run.node }
  if (run.status === 'leased') {
    if (!run.deferred) return null
    return {
      ...at,
      kind: 'completion',
      id: run.id,
      text: `${placeOf(run)} waits for its completion from outside: run ${run.id}`,
    }
  }
  if (run.runAt >= PARKED_AT) {
    const what = run.rootId === null ? `type '${run.type}' is paused` : 'its workflow is paused'
    return { ...at, kind: 'paused', id: run.id, text: `${placeOf(run)} waits: ${what}` }
  }
  if (run.runAt > now) return null
  if (paused.has(run.queue)) {
    return {
      ...at,
      kind: 'queue',
      id: run.queue,
      text: `${placeOf(run)} waits in queue '${run.queue}', which is paused`,
    }
  }
  const listing = registry.get(run.type)
  if (listing?.isEnabled === false) {
    return {
      ...at,
      kind: 'registry',
      id: run.type,
      text: `${placeOf(run)} waits: type '${run.type}' is disabled in the registry`,
    }
  }
  const fitting = listing === undefined ? alive : alive.filter((worker) => worker.runtime === listing.runtime)
  if (fitting.some((worker) => serves(worker, run))) return null
  const of = listing === undefined ? '' : ` of runtime '${listing.runtime}'`
  return {
    ...at,
    kind: 'worker',
    id: run.type,
    text: `${placeOf(run)} waits for a worker${of} that ${ableTo(run.type)}`,
  }
}

function ableTo(type: string): string {
  const tools = toolsOfType(type)
  return tools.length === 0 ? `handles '${type}'` : `has the tools ${tools.join(', ')}`
}

function serves(worker: WorkerRow, run: RunRow): boolean {
  const queue = worker.queues.length === 0 || worker.queues.includes(run.queue)
  return queue && typeMatcher(worker.types.length === 0 ? null : worker.types)(run.type)
}

export async function waitsOfTokens(reading: ShellReading, instance: InstanceRow): Promise<readonly Wait[]> {
  const waits: Wait[] = []
  if (instance.gates > 0) {
    for (const gate of await reading.queries.openGates({ instanceId: instance.id, limit: LOOKED_AT })) {
      const title = (json(gate.options) as { readonly title?: unknown } | null)?.title
      const about = typeof title === 'string' ? ` (${brief(title)})` : ''
      waits.push({
        kind: 'gate',
        id: gate.id,
        instance: instance.id,
        node: gate.node,
        text: `${gate.node}${about} waits for an answer: petrel approve ${gate.id}`,
      })
    }
  }
  if (instance.held > 0) {
    const net = await reading.net(instance.netHash)
    for (const slot of await reading.queries.slots({ instanceId: instance.id, prefix: SLOT.heldToken.prefix })) {
      const node = (json(slot.value) as { readonly node?: string } | null)?.node ?? null
      const rules = net?.nodes.find(({ key }) => key === node)?.admit?.rules ?? []
      const what = `${node ?? slot.key} is held until its admission rule allows it (${brief(rulesWords(rules), 120)})`
      waits.push({
        kind: 'held',
        id: node ?? slot.key,
        instance: instance.id,
        node,
        text: `${what}: ${contextHint(instance.id, namesAsked(rules))}`,
      })
    }
  }
  return waits
}
