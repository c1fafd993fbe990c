/**
 * Stand-ins of a dry run: they answer according to the outcomes file, otherwise with the input, or a value that fits
 * the schema.
 */

import type { GateRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { programsOf } from '../../notations/notations.ts'
import type { Definition } from '../../notations/source/definition.ts'
import type { Context } from '../../worker/context.ts'
import { Retryable, Terminal } from '../../worker/errors.ts'
import { type Handler, Handlers } from '../../worker/handlers.ts'
import type { SkippedClock } from './clock.ts'
import type { Execution, GateAnswer, Outcomes } from './outcomes.ts'
import { sampleOf } from './sample.ts'

/** A gate that is always approved and always opened again: without a limit the dry run would never end. */
const MOST_APPROVALS = 20

export class StandIns {
  readonly #outcomes: Outcomes
  readonly #clock: SkippedClock
  /** The schemas of results, by node. */
  readonly #schemas: ReadonlyMap<string, Json>
  /** By run: the attempts of a run that is made active again start at 1, the outcomes file counts on. */
  readonly #executions = new Map<string, Execution>()
  readonly #gates = new Map<string, number>()
  readonly #gatesAt = new Map<string, number>()
  /** Handlers under way, own or stand-in, asleep or not. */
  running = 0

  constructor(definition: Definition, outcomes: Outcomes, clock: SkippedClock) {
    this.#outcomes = outcomes
    this.#clock = clock
    const { net, nets = [] } = definition.start
    const nodes = [net, ...nets].flatMap((n) => n.nodes)
    this.#schemas = new Map(nodes.flatMap(({ key, schema }) => (schema?.output ? [[key, schema.output] as const] : [])))
  }

  /** The given handlers, counted, and a stand-in for every other type. */
  handlers(own: Handlers | null): Handlers {
    const handlers = new Handlers()
    for (const [type, handler] of own?.entries() ?? []) handlers.add(type, this.#counted(handler))
    if (!handlers.types().includes('%')) handlers.add('%', this.#counted(this.#answer))
    return handlers
  }

  #counted(handler: Handler): Handler {
    return async (args: never, ctx: Context<never>): Promise<unknown> => {
      this.running++
      const { runId, node, item, role, type } = ctx
      const times = (this.#executions.get(runId)?.times ?? 0) + 1
      this.#executions.set(runId, { node, item, role, type, times })
      try {
        return await handler(args, ctx)
      } finally {
        this.running--
      }
    }
  }

  #answer = async (args: never, ctx: Context<never>): Promise<unknown> => {
    const { delayMs, error, result } = this.#outcomes.run(this.#executions.get(ctx.runId) as Execution)
    if (delayMs > 0) await this.#clock.sleep(`${ctx.runId}/${ctx.attempt}`, delayMs, ctx.signal)
    const programs = programsOf(ctx.type)
    // What a program decides is final: only a lost worker is tried again.
    const final = programs !== null && error?.retryable === undefined
    if (error !== null) throw mocked(final ? { ...error, retryable: false } : error)
    if (result !== undefined) return result
    if (programs !== null) return programs.input(args)
    const schema = ctx.role === 'work' && ctx.node !== null ? this.#schemas.get(ctx.node) : undefined
    return schema === undefined ? args : sampleOf(schema, args)
  }

  /** The decision for a gate: one of a step, or one where governance forbade a run. */
  gate(gate: GateRow): GateAnswer {
    let times = this.#gates.get(gate.id)
    if (times === undefined) {
      times = this.#gatesAt.get(gate.node) ?? 0
      this.#gatesAt.set(gate.node, times + 1)
      this.#gates.set(gate.id, times)
    }
    const { run } = JSON.parse(gate.args ?? '{}') as { readonly run?: string }
    const execution = run === undefined ? undefined : this.#executions.get(run)
    if (execution === undefined) return this.#outcomes.gate(gate.node, times)
    const answer = this.#outcomes.appeal(execution, times)
    return times < MOST_APPROVALS ? answer : { ...answer, approved: null }
  }
}

function mocked(failure: Failure): Error {
  const { code, message, category, retryable } = failure
  const options = { code, ...(category === undefined ? {} : { category }) }
  if (retryable === false) return new Terminal(message, options)
  if (retryable === true) return new Retryable(message, options)
  return Object.assign(new Error(message), options)
}
