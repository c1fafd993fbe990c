/** Refusals about a run: it does not exist for the caller, or its state does not allow the request. */
import { notFound, RequestError } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'

/** The requester: a worker about a run that it holds, or any caller about the run itself. */
type Asked = 'report' | 'change'

/** Refusals contain the status of the run, and a suggestion. */
export async function aboutRun<T>(asked: Asked, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw runProblem(error, asked)
  }
}

/** Other errors are not changed. */
export function runProblem(error: unknown, asked: Asked): unknown {
  if (!(error instanceof PetrelError) || error.details.kind !== 'run') return error
  const { id = '', status, hint } = error.details
  if (error.code === 'not_found') return notFound('run', id, hint)
  if (error.code !== 'conflict' && error.code !== 'stale_lease') return error
  return new RequestError('conflict', error.message, {
    details: { run_id: id, ...(status === undefined ? {} : { status }) },
    hint: (asked === 'change' ? hint : undefined) ?? hintOf(status ?? null, asked),
  })
}

function hintOf(status: string | null, asked: Asked): string {
  if (asked === 'change') return status === 'leased' ? 'Cancel it first.' : 'What has ended stays as it is.'
  if (status === 'leased')
    return 'Stop working on it: another worker holds it, or it was handed out again. Claim other work.'
  if (status === 'pending') return 'Stop working on it: it waits to be handed out again. Claim other work.'
  return 'Stop working on it: what has ended stays as it is.'
}
