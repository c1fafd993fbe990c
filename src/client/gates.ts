import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { GateView } from '../model/gates.ts'
import type { GateRow } from '../model/rows.ts'
import type { InstanceState } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import { type GateFilter, gateQuery } from './listing.ts'

export interface Answer {
  readonly answer?: Json
  readonly actor?: string
  /** Roles of the actor, if the gate requires some. */
  readonly roles?: readonly string[]
  readonly reason?: string
}

/** Decisions of people, and signals of other programs. */
export class Gates {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  /** Newest first. */
  list(filter: GateFilter = {}): Promise<readonly GateRow[]> {
    return this.#engine.queries.listGates(gateQuery(filter))
  }

  /** The gate with its instance, and the result of its votes. */
  async get(id: string): Promise<GateView> {
    const view = await this.#engine.gate(id)
    if (view === null) throw new PetrelError('not_found', `there is no gate ${id}`)
    return view
  }

  /** One person's vote. Returns the state of the instance, which continues if the vote decides the gate. */
  approve(id: string, answer: Answer = {}): Promise<InstanceState> {
    return this.#answer(id, true, answer)
  }

  reject(id: string, answer: Answer = {}): Promise<InstanceState> {
    return this.#answer(id, false, answer)
  }

  async #answer(gateId: string, approved: boolean, answer: Answer): Promise<InstanceState> {
    const { actor = null, ...rest } = answer
    return (await this.#engine.answerGate({ gateId, approved, ...rest, actor })).state
  }
}
