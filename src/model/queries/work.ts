/**
 * The work of an instance at its places, as a person chooses one of them: which firings a node has had, what became of the
 * work at a place, how much work there is before and after a firing, and which runs wait for a time. Every count has a limit.
 */
import type { InstanceState } from '../../net/marking.ts'
import type { GateRow, RunStatus } from '../rows.ts'
import type { PlaceAt } from './firings.ts'
import type { NodeOf } from './steps.ts'

export interface WorkQueries {
  /** The first firings of a node, in their order. */
  firings(params: FiringsOf & { readonly limit: number }): Promise<readonly number[]>
  /** null: the node has not fired. */
  lastFiring(params: FiringsOf): Promise<number | null>
  /** null: there is none. */
  at(place: PlaceAt): Promise<WorkAt | null>
  /** Runs and attached children of nodes, by the side of a firing on which theirs are; at most `most` of each are read. */
  counts(params: {
    readonly instanceId: string
    readonly nodes: readonly string[]
    readonly fire: number
    readonly most: number
  }): Promise<readonly WorkCount[]>
  /** Runs of an instance, and of what is nested in it, that are due later; those that wait to be activated are not. */
  waiting(params: {
    readonly instanceId: string
    readonly now: number
    readonly after: string | null
    readonly limit: number
  }): Promise<readonly string[]>
}

/** `gates`: the firings of a node that is a gate. An appeal at another node has a firing number that is not the node's. */
export interface FiringsOf extends NodeOf {
  readonly gates: boolean
}

/** `id`: of the run, the child or the gate. `unknown`: the work may have taken effect. */
export interface WorkAt {
  readonly kind: 'run' | 'child' | 'gate'
  readonly id: string
  readonly status: RunStatus | InstanceState | GateRow['state']
  readonly unknown: boolean
}

export interface WorkCount extends Omit<WorkAt, 'id'> {
  readonly node: string
  /** −1: of a firing before the given one, 0: of that one, 1: of one after it. */
  readonly side: -1 | 0 | 1
  readonly count: number
}
