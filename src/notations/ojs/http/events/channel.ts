/** Channels that name something: it must be there, and the caller's to see. */

import type { EngineApi } from '../../../../engine/api.ts'
import { notFound } from '../../../../http/request-error.ts'
import { readId } from '../../../../kernel/ids.ts'
import { findWorkflow } from '../../compile/workflow-id.ts'
import type { OjsContext } from '../context.ts'

/** A queue is made by its first job, so its channel may be listened to before. */
export async function requireChannel({ engine }: OjsContext, channel: string, tenant: string | null): Promise<void> {
  const [kind, ...rest] = channel.split(':')
  const name = rest.join(':')
  if (kind === 'job' && !(await seesJob(engine, name, tenant))) throw notFound('job', name)
  if (kind === 'workflow' && (await findWorkflow(engine, name, tenant)) === null) throw notFound('workflow', name)
}

async function seesJob(engine: EngineApi, id: string, tenant: string | null): Promise<boolean> {
  const run = readId(id) !== null ? await engine.queries.run(id) : null
  return run !== null && (tenant === null || run.tenant === tenant)
}
