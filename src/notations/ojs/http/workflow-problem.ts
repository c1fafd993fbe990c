/** What is refused about a workflow. */
import { RequestError } from '../../../http/request-error.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { MAX_JSON_BYTES } from '../../../kernel/limits.ts'
import type { Body } from '../../../wire/mistaken.ts'
import type { WorkflowMistake } from '../compile/workflow.ts'
import type { Wire } from '../project/workflow-head.ts'

const MOST_MISTAKES = 100

export function invalidWorkflow(mistakes: readonly WorkflowMistake[]): RequestError {
  const shown = mistakes.slice(0, MOST_MISTAKES)
  return new RequestError('invalid_workflow', 'Workflow validation failed', {
    details: {
      validation_errors: shown,
      ...(mistakes.length > shown.length ? { more: mistakes.length - shown.length } : {}),
    },
  })
}

/** Arguments beyond the limit, by their place in the body: those of one job, or of all steps of a chain together. */
export function tooLarge(error: unknown, body: Body): unknown {
  if (!(error instanceof PetrelError) || error.code !== 'payload_too_large') return error
  const { steps, jobs } = body as { readonly steps?: readonly Body[]; readonly jobs?: readonly Body[] }
  const [list, name] = jobs === undefined ? [steps ?? [], 'steps'] : [jobs, 'jobs']
  const bytes = list.map((part) => Buffer.byteLength(JSON.stringify(part['args'] ?? part)))
  const most = Math.max(...bytes)
  const at = bytes.indexOf(most)
  const one = most > MAX_JSON_BYTES || name === 'jobs'
  const field = one ? `${name}[${at}]${list[at]?.['args'] === undefined ? '' : '.args'}` : name
  const size = one ? most : bytes.reduce((sum, part) => sum + part, 0)
  const what = one ? 'it has' : 'the arguments of all steps of a chain have'
  // What is stored has all that is kept of each job, and of nested jobs each option.
  const sent = size > MAX_JSON_BYTES ? `${size} bytes` : `${size} bytes as sent, and more as stored`
  return new RequestError('payload_too_large', `${field}: ${what} ${sent}; at most ${MAX_JSON_BYTES} are stored`, {
    details: { field, max_bytes: MAX_JSON_BYTES },
    hint: 'Keep large arguments elsewhere and send a reference to them.',
  })
}

export function taken(id: string): RequestError {
  return new RequestError('duplicate', `there is a workflow ${id} already`, {
    details: { existing_workflow_id: id, resource_type: 'workflow', resource_id: id },
    hint: 'Leave id out and the server makes one, or choose another; nested workflows count as well.',
  })
}

export function missingWorkflow(id: string): RequestError {
  return new RequestError('not_found', `Workflow ${id} not found`, {
    details: { resource_type: 'workflow', resource_id: id },
  })
}

/** `planned`: as it is shown; null: there is none. */
export function notBegun(id: string, planned: Wire | null): RequestError {
  if (planned === null) return missingWorkflow(id)
  if (planned['state'] === 'cancelled') return ended(id, 'cancelled')
  return new RequestError('conflict', `Workflow ${id} has not begun; its turn in the workflow around it has not come`, {
    details: { workflow_id: id, current_state: planned['state'], root_id: planned['root_id'] },
    hint: 'Cancel the workflow around it, or wait until this one has begun.',
  })
}

export function cancelProblem(error: unknown, id: string): unknown {
  if (!(error instanceof PetrelError) || error.code !== 'conflict') return error
  return ended(id, error.details['state'] === 'cancelling' ? 'cancelled' : String(error.details['state']))
}

function ended(id: string, state: string): RequestError {
  return new RequestError('conflict', `Workflow ${id} is already in terminal state '${state}'`, {
    details: { workflow_id: id, current_state: state, expected_state: 'pending or running' },
    hint: 'What has ended cannot be cancelled.',
  })
}

export function retryProblem(error: unknown, id: string): unknown {
  if (!(error instanceof PetrelError) || error.code !== 'conflict') return error
  return new RequestError('conflict', `Workflow ${id} cannot be retried: ${error.message}`, {
    details: { workflow_id: id, expected_state: 'failed or cancelled', ...error.details },
    hint: 'Only a workflow that failed or was cancelled is retried, and always the outermost one.',
  })
}
