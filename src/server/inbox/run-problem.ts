/** What can be wrong with a run that somebody names: it is not there, not theirs, or not in the state for this. */
import type { EngineApi } from '../../engine/api.ts'
import { isId } from '../../http/query.ts'
import { notFound, RequestError } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Caller } from '../../operations/caller.ts'

/** A run the caller may see. What belongs to another tenant is not there. */
export async function findRun(engine: EngineApi, given: string, caller: Caller): Promise<RunRow> {
  const id = idOf(given)
  const run = await engine.queries.run(id)
  if (run === null || (caller.tenant !== null && run.tenant !== caller.tenant)) throw notFound('run', given)
  return run
}

/** The same, where the engine will look the run up anyway: only a caller of one tenant needs a look before. */
export async function knownId(engine: EngineApi, given: string, caller: Caller): Promise<string> {
  return caller.tenant === null ? idOf(given) : (await findRun(engine, given, caller)).id
}

function idOf(given: string): string {
  if (isId(given)) return given.toLowerCase()
  throw notFound('run', given, 'The id of a run is a UUID.')
}

/** What the engine refuses about a run, with the status it is in. Anything else is passed on as it is. */
export function runProblem(error: unknown, id: string, asked: Asked): unknown {
  if (!(error instanceof PetrelError)) return error
  if (error.code === 'not_found') return notFound('run', id)
  if (error.code !== 'conflict' && error.code !== 'stale_lease') return error
  return conflict(id, error.details.status ?? null, error.message, asked)
}

/** A worker about what it holds, or anybody about the run itself. */
type Asked = 'report' | 'change'

export function conflict(id: string, status: string | null, message: string, asked: Asked): RequestError {
  return new RequestError('conflict', message, {
    details: { run_id: id, ...(status === null ? {} : { status }) },
    hint: hintOf(status, asked),
  })
}

function hintOf(status: string | null, asked: Asked): string {
  if (asked === 'change') return status === 'leased' ? 'Cancel it first.' : 'What has ended stays as it is.'
  if (status === 'leased') return 'Stop working on it: someone else holds it, or it was taken again. Claim other work.'
  if (status === 'pending') return 'Stop working on it: it waits to be taken again. Claim other work.'
  return 'Stop working on it: what has ended stays as it is.'
}
