/** Who reports progress or saves a checkpoint, where the body may leave it out. */
import type { FastifyRequest } from 'fastify'
import type { PetrelError } from '../../../kernel/errors.ts'
import type { RunRow } from '../../../model/rows.ts'
import { holderOf } from '../../../operations/caller.ts'
import type { OjsContext } from './context.ts'

/** null: a job that no worker holds. An error: a lost worker may still be working on the job, and this could be it. */
export async function reporterOf(
  { engine, voices }: OjsContext,
  request: FastifyRequest,
  run: RunRow,
  named: string | null,
): Promise<string | null | PetrelError> {
  if (named !== null) return holderOf(request.caller, named)
  return run.status === 'leased' ? engine.leases.holderOf(run, voices.speakerOf(request)) : null
}
