/** The errors that a caller waiting for work receives when it did not succeed. */

import type { RunStatus } from '../model/rows.ts'
import type { Failure, InstanceOutcome, InstanceState } from '../net/marking.ts'

export interface WorkflowFailedParams {
  readonly id: string
  readonly kind: 'instance' | 'run'
  readonly state: InstanceState | RunStatus
  readonly outcome: InstanceOutcome | null
  /** Where it failed; null: not known, or not at one node. */
  readonly node: string | null
  readonly error: Failure | null
}

/** A workflow or run did not end as completed: failed, cancelled, compensated. */
export class WorkflowFailed extends Error {
  /** The code of the error that failed it, otherwise its outcome or state: 'handler_error', 'timeout', 'cancelled' … */
  readonly code: string
  readonly id: string
  readonly state: InstanceState | RunStatus
  readonly outcome: InstanceOutcome | null
  readonly node: string | null
  readonly error: Failure | null

  constructor(params: WorkflowFailedParams) {
    const { id, kind, state, outcome, node, error } = params
    const what = kind === 'run' ? 'run' : 'workflow'
    const where = node === null ? '' : ` at '${node}'`
    super(`${what} ${id} ${state}${where}${error === null ? '' : `: ${error.message}`}`)
    this.name = 'WorkflowFailed'
    this.code = error?.code ?? outcome ?? state
    this.id = id
    this.state = state
    this.outcome = outcome
    this.node = node
    this.error = error
  }
}
