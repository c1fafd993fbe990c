/**
 * The outcome of one try of a task. It is an error if, and only if, the tool's envelope is one: a result such as
 * `{"status": "error"}` is data that an author may test in a rule. (Another engine treats it as an error, and so fails
 * steps whose service merely has a field of that name.)
 */
import type { Failure } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import type { Envelope, ToolError } from '../../../tools/tool.ts'
import type { Fields } from './state.ts'

export interface Outcome extends Envelope {
  readonly meta: { readonly attempt: number; readonly duration_ms: number; readonly ts: string }
}

/** Why a step failed. */
export interface StepError {
  /** null: no task of the step was at fault. */
  readonly task: string | null
  readonly error: ToolError
  readonly outcome: Outcome | null
}

/**
 * The outcome as rules read it: `output` with data, `outcome` with result. Fields that the tool did not give are left
 * out.
 */
export function envelopeFields(outcome: Outcome, holds: 'data' | 'result'): Fields {
  const { status, result, error, meta } = outcome
  return {
    status,
    [holds]: result,
    ...(holds === 'data' && { ref: null }),
    error: error as Json,
    meta,
    ...toolParts(outcome),
  }
}

/** The pipeline's decision is final: only the loss of the run is a reason to repeat it. */
export function stepFailure({ task, error, outcome }: StepError): Failure {
  return {
    code: error.kind,
    message: error.message,
    retryable: false,
    details: {
      ...(task !== null && { task }),
      error: error as unknown as Json,
      ...(outcome !== null && toolParts(outcome)),
    },
  }
}

/** An error of the pipeline's own. */
export function ownError(kind: string, code: string, message: string): ToolError {
  return { kind, retryable: false, code, message }
}

function toolParts({ http, pg, py }: Outcome): Fields {
  return { ...(http !== undefined && { http }), ...(pg !== undefined && { pg }), ...(py !== undefined && { py }) }
}
