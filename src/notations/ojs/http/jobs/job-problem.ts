/** What the engine refuses about a run, in the words of jobs. */
import { notFound, RequestError } from '../../../../http/request-error.ts'
import { type ErrorDetails, PetrelError } from '../../../../kernel/errors.ts'

/** Anything else is passed on as it is. */
export function jobProblem(error: unknown, id: string, expected: string): unknown {
  if (!(error instanceof PetrelError)) return error
  if (error.code === 'not_found') return notFound('job', id)
  if (error.code !== 'conflict' && error.code !== 'stale_lease') return error
  const state = stateWord(error.details)
  return new RequestError('conflict', messageOf(error), {
    details: { job_id: id, ...(state === null ? {} : { current_state: state }), expected_state: expected },
    ...(state === null ? {} : { hint: hintOf(state, expected) }),
  })
}

/** What becomes of one job, refused in the words of jobs. */
export function ofJob<T>(id: string, expected: string, done: Promise<T>): Promise<T> {
  return done.catch((error: unknown) => Promise.reject(jobProblem(error, id, expected)))
}

function messageOf({ message, details: { kind, id, problem } }: PetrelError): string {
  return kind === 'run' && problem !== undefined ? `job ${id} ${problem}` : message
}

function hintOf(state: string, expected: string): string {
  if (state === expected) return 'Another worker holds it by now, or it was started again; fetch other work.'
  return `The job is ${state}; this needs one that is ${expected}.`
}

const WORDS: { readonly [word: string]: string } = {
  held: 'pending',
  leased: 'active',
  succeeded: 'completed',
  failed: 'discarded',
  cancelled: 'cancelled',
  available: 'available',
  scheduled: 'scheduled',
  retryable: 'retryable',
}

/** A run that waits has several words among jobs: the engine names what it waits for. */
function stateWord({ wait, status }: ErrorDetails): string | null {
  const word = wait ?? status
  return typeof word === 'string' ? (WORDS[word] ?? null) : null
}
