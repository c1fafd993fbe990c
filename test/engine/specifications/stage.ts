/** Shared by the tests of the specifications' rules; docs/conformance names each with its section. */

import type { InstanceRow, RunRow } from '../../../src/model/rows.ts'
import type { Json, Node } from '../../../src/net/net.ts'
import { buildWorkflow } from '../../../src/notations/ojs/compile/builder.ts'
import type { JobTree, Tree } from '../../../src/notations/ojs/compile/tree.ts'
import type { Delivery } from '../../../src/worker/port.ts'
import { Drive, node, ONCE, type Place } from '../drive.ts'

export const TWICE = { ...ONCE, maxAttempts: 2, initialMs: 1000, maxMs: 1000 }

/** Leases last as long as the test needs. */
export const open = (place: Place): Promise<Drive> => Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 })

export const arc = (to: string, when: string | null = null, rest: object = {}) => ({
  to,
  when,
  args: null,
  set: null,
  ...rest,
})
export const routed = (
  key: string,
  mode: 'first' | 'every',
  arcs: readonly ReturnType<typeof arc>[],
  rest: Partial<Node> = {},
): Node => node(key, [], { next: { mode, arcs, scope: null }, ...rest })

export const job = (type: string, args: Json = null, maxAttempts = 1): JobTree => ({
  kind: 'job',
  type,
  args,
  options: { retry: { maxAttempts } },
})
export const chain = (...steps: Tree[]): Tree => ({ kind: 'chain', steps })
export const group = (...jobs: Tree[]): Tree => ({ kind: 'group', jobs })
export const batch = (jobs: Tree[], maxAttempts = 1): Tree => ({
  kind: 'batch',
  jobs,
  onComplete: job('on.complete', null, maxAttempts),
  onSuccess: job('on.success'),
  onFailure: job('on.failure'),
})

export const workflow = (d: Drive, tree: Tree): Promise<string> => d.start(buildWorkflow(tree).start)
export const row = async (d: Drive, id: string): Promise<InstanceRow> =>
  (await d.store.read.instance(id)) as InstanceRow
export const runRow = async (d: Drive, id: string): Promise<RunRow> => (await d.store.read.run(id)) as RunRow
export const types = (deliveries: readonly Delivery[]): string[] => deliveries.map((x) => x.type)
export const byType = (deliveries: readonly Delivery[], type: string): Delivery =>
  deliveries.find((x) => x.type === type) as Delivery

/** Reports the start of a run, as a worker does for one that takes a while. */
export const begin = async (d: Drive, x: Delivery): Promise<void> =>
  d.session.started([{ runId: x.runId, epoch: x.epoch, at: await d.store.now() }])

/** The events of an instance, with the node where there is one. */
export const events = async (d: Drive, id: string): Promise<string[]> =>
  (await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })).map((e) =>
    e.node === null ? e.type : `${e.type} ${e.node}`,
  )
