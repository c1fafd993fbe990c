/** GET /v1/instances/:id/steps: where each node of an instance stands, in the order of its definition. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query, textParam, wholeParam } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { StepRun } from '../../model/queries/steps.ts'
import { indexNet } from '../../net/compile.ts'
import type { Json, Node } from '../../net/net.ts'
import type { OwnStep } from '../../notations/interface/projection.ts'
import { projectionOf } from '../../notations/notations.ts'
import { failureOf, nodesBefore } from '../../views/steps.ts'
import { time, type Wire } from '../../wire/value.ts'
import { type ById, findRow } from './find.ts'

export function stepRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.get<ById>('/v1/instances/:id/steps', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const limit = wholeParam(query, 'limit', { least: 1, most: 1000, fallback: 100 })
    const after = textParam(query, 'after')
    const instance = await findRow(engine, request.params.id, request.caller)
    const net = await engine.net(instance.netHash)
    if (net === null) throw notFound('net', instance.netHash)
    const { steps: project } = projectionOf(instance)
    const all = project.nodes(net)
    const from = after === null ? 0 : all.findIndex(({ key }) => key === after) + 1
    if (after !== null && from === 0) {
      throw new PetrelError('invalid_request', `after: there is no step '${after}'`, { parameter: 'after' })
    }
    const compiled = indexNet(net)
    const nodes = all.slice(from, from + limit)
    const steps = await project.load(engine, net, instance, nodes)
    return {
      instance_id: instance.id,
      total: all.length,
      steps: steps.map((step) => stepWire(step, nodesBefore(compiled, step.node.key))),
      next_after: from + limit < all.length ? (nodes.at(-1)?.key ?? null) : null,
    }
  })
}

export function stepWire(step: OwnStep, dependsOn: readonly string[]): Wire {
  const { node, run, gate, child, undo, items } = step
  return {
    name: node.key,
    kind: node.work.kind,
    state: step.state,
    depends_on: dependsOn,
    on_failure: step.onFailure,
    ...taskWire(node),
    attempts: attempts(run),
    retries: step.retries,
    started_at: time(step.startedAt),
    ended_at: time(step.endedAt),
    duration_ms: step.startedAt === null || step.endedAt === null ? null : Math.max(0, step.endedAt - step.startedAt),
    error: step.error,
    run_id: run?.id ?? null,
    gate_id: gate?.id ?? null,
    child_id: child?.id ?? null,
    ...(items === null ? {} : { items: Object.fromEntries(items) }),
    ...step.own,
    undo: undo === null ? null : undoWire(undo),
  }
}

function taskWire({ work }: Node): Wire {
  if (work.kind !== 'run') return { type: null, queue: null, agent: null, action: null }
  const { agent = null, action = null } = (work.args ?? {}) as { readonly agent?: Json; readonly action?: Json }
  return { type: work.type, queue: work.queue, agent, action }
}

/** Executions so far, the current one too. */
function attempts(run: StepRun | null): number {
  if (run === null) return 0
  const more = run.status === 'leased' || run.status === 'succeeded' ? 1 : 0
  return run.attempt + more
}

function undoWire(undo: StepRun): Wire {
  return {
    state: undo.status,
    run_id: undo.id,
    attempts: attempts(undo),
    started_at: time(undo.firstStartedAt),
    ended_at: time(undo.finishedAt),
    error: undo.status === 'succeeded' ? null : failureOf(undo),
  }
}
