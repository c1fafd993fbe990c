/** A run named by a caller. Runs of other tenants do not exist for it. */
import { PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import type { RunRow } from '../../model/rows.ts'
import { maySee } from '../caller.ts'
import type { Use } from '../operation.ts'

export async function findRun({ engine, caller }: Use, given: string): Promise<RunRow> {
  const run = await engine.queries.run(idOf(given))
  if (run === null || !maySee(caller, run)) throw noRun(given)
  return run
}

/** For operations in which the engine reads the run anyway: only a caller with a tenant needs a separate read. */
export async function knownRun(use: Use, given: string): Promise<string> {
  return use.caller.tenant === null ? idOf(given) : (await findRun(use, given)).id
}

function idOf(given: string): string {
  const id = readId(given)
  if (id === null) throw noRun(given)
  return id
}

/** Also of a text that is no id. */
export function noRun(given: string): PetrelError {
  const hint = readId(given) === null ? { hint: 'The id of a run is a UUID.' } : {}
  return new PetrelError('not_found', `there is no run ${given}`, { kind: 'run', id: given, ...hint })
}
