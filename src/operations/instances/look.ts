/** Reads of instances: lists, one of them, its net, steps, reasons for waiting and results. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import { scopedName } from '../../kernel/scoped-names.ts'
import type { InstanceQuery } from '../../model/queries/queries.ts'
import type { InstanceRow, JsonText } from '../../model/rows.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { indexNet } from '../../net/compile.ts'
import type { Net } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import type { Own, OwnStep } from '../../notations/interface/projection.ts'
import { projectionOf } from '../../notations/notations.ts'
import { lastWorkers } from '../../views/pictures/who.ts'
import { nodesBefore, type StepState } from '../../views/steps.ts'
import type { InstanceView, ViewPage } from '../../views/view.ts'
import type { Why } from '../../views/why.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { findInstance, findView, netOf } from './find.ts'
import { type Given, given } from './given.ts'

interface ById {
  readonly id: string
}

/** `startKey`: as named by the caller. */
export const listInstances = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, query: Omit<InstanceQuery, 'tenant'>): Promise<Page<InstanceRow>> => {
    const { startKey } = query
    const stored = startKey == null || tenant === null ? startKey : scopedName(startKey, tenant)
    const own = { ...query, tenant, ...(stored === undefined ? {} : { startKey: stored }) }
    return pageOf(query.limit, (limit) => engine.queries.listInstances({ ...own, limit }))
  },
)

export const findOneInstance = operation(
  { scope: 'read' },
  (use, { id }: ById): Promise<InstanceRow> => findInstance(use, id),
)

/** One with its runs, gates and children. */
export const viewInstance = operation(
  { scope: 'read' },
  (use, { id, page }: ById & { readonly page?: ViewPage }): Promise<InstanceView> => findView(use, id, page),
)

/** `results`: by node. `own`: fields that only its notation has. */
export interface InstanceShown {
  readonly view: InstanceView
  readonly given: Given
  readonly results: ReadonlyMap<string, JsonText | null>
  readonly own: Own | null
}

export const showInstance = operation(
  { scope: 'read' },
  async (use, asked: ById & ViewPage): Promise<InstanceShown> => {
    const view = await findView(use, asked.id, asked)
    const { id } = view.instance
    const [results, origin, own] = await Promise.all([
      use.engine.shownResults(id, PAGE_BYTES),
      given(use.engine, id),
      projectionOf(view.instance).own?.(use.engine, view.instance),
    ])
    return { view, given: origin, results, own: own ?? null }
  },
)

export const instanceNet = operation(
  { scope: 'read' },
  async (use, { id }: ById): Promise<{ readonly hash: string; readonly net: Net }> => {
    const row = await findInstance(use, id)
    return { hash: row.netHash, net: await netOf(use, row) }
  },
)

export const showContext = operation(
  { scope: 'read' },
  async (use, { id }: ById): Promise<{ readonly row: InstanceRow; readonly context: Given['context'] }> => {
    const row = await findInstance(use, id)
    return { row, context: (await given(use.engine, row.id)).context }
  },
)

/** What it waits for, node by node. */
export const explainInstance = operation(
  { scope: 'read' },
  async (
    use,
    { id: name, ...page }: ById & { readonly after: string | null; readonly limit: number },
  ): Promise<Why> => {
    const { id } = await findInstance(use, name)
    const why = await use.engine.why({ instanceId: id, ...page })
    // Removed since.
    if (why === null) throw missing('instance', name)
    return why
  },
)

/** `worker`: of its last execution. */
export interface ShownStep {
  readonly step: OwnStep
  readonly dependsOn: readonly string[]
  readonly worker: string | null
}

export interface StepPage {
  readonly instance: InstanceRow
  readonly total: number
  readonly steps: readonly ShownStep[]
  /** Name of the last step of the page; null: no more follow. */
  readonly next: string | null
}

/** The state of each node, in the order of its definition. */
export const listSteps = operation(
  { scope: 'read' },
  async (
    use,
    { id, after, limit }: ById & { readonly after: string | null; readonly limit: number },
  ): Promise<StepPage> => {
    const instance = await findInstance(use, id)
    const net = await netOf(use, instance)
    const { steps: project } = projectionOf(instance)
    const all = project.nodes(net)
    const from = after === null ? 0 : all.findIndex(({ key }) => key === after) + 1
    if (after !== null && from === 0) {
      throw new PetrelError('invalid_request', `after: there is no step '${after}'`, { parameter: 'after' })
    }
    const compiled = indexNet(net)
    const nodes = all.slice(from, from + limit)
    const steps = await project.load(use.engine, net, instance, nodes)
    const workers = await lastWorkers(use.engine.queries, instance, steps)
    return {
      instance,
      total: all.length,
      steps: steps.map((step) => ({
        step,
        dependsOn: nodesBefore(compiled, step.node.key),
        worker: step.run === null ? null : (workers.get(step.run.id) ?? null),
      })),
      next: from + limit < all.length ? (nodes.at(-1)?.key ?? null) : null,
    }
  },
)

export interface NodeResult {
  readonly instance: InstanceRow
  readonly node: string
  readonly state: StepState
  /** null: none, or it returned none. */
  readonly result: JsonText | null
}

/** The complete result of one node. */
export const nodeResult = operation(
  { scope: 'read' },
  async (use, p: ById & { readonly node: string }): Promise<NodeResult> => {
    const instance = await findInstance(use, p.id)
    const net = await netOf(use, instance)
    const node = net.nodes.find(({ key }) => key === p.node)
    if (node === undefined) {
      throw new PetrelError('not_found', `there is no step ${p.node}`, {
        kind: 'step',
        id: p.node,
        hint: `Of ${instance.name}.`,
      })
    }
    const [step] = await projectionOf(instance).steps.load(use.engine, net, instance, [node])
    const state = step?.state ?? 'pending'
    return { instance, node: node.key, state, result: await resultOf(use, instance, net, node.key, step?.run?.id) }
  },
)

/** The result of a final is never an input, so the engine keeps it only in its run. */
async function resultOf(
  { engine }: Use,
  { id }: InstanceRow,
  { finals }: Net,
  node: string,
  runId: string | undefined,
): Promise<JsonText | null> {
  if (!finals.some((final) => final.node === node)) return (await engine.results(id, [node])).get(node) ?? null
  return runId === undefined ? null : ((await engine.queries.run(runId))?.result ?? null)
}

/** Arguments stored separately from a payload, which refers to them. */
export const storedArguments = operation(
  { scope: 'read' },
  async (use, { id: name, ref }: ById & { readonly ref: string }): Promise<ById & { readonly value: JsonText }> => {
    const { id } = await findInstance(use, name)
    // Other slots are internal.
    const value = SLOT.storedArgs.isKey(ref) ? await use.engine.queries.slot({ instanceId: id, key: ref }) : null
    if (value !== null) return { id, value }
    throw new PetrelError('not_found', `there is no reference ${ref}`, {
      kind: 'reference',
      id: ref,
      hint: 'It is the value of a {"$ref": "x:7"} in arguments: x and a number.',
    })
  },
)
