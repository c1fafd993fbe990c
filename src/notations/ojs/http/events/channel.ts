/** Channels that name a job or a workflow: the caller must be able to see it. */
import { notFound } from '../../../../http/request-error.ts'
import type { Caller } from '../../../../operations/caller.ts'
import { findNamedInstance } from '../../../../operations/instances/named.ts'
import type { Perform } from '../../../../operations/operation.ts'
import { showRun } from '../../../../operations/runs/look.ts'
import { startKeyOf } from '../../compile/workflow-id.ts'
import { ofJob } from '../jobs/job-problem.ts'

interface Asking {
  readonly perform: Perform
  readonly caller: Caller
}

/** A queue exists from its first job, so its channel may be listened to before. */
export async function requireChannel({ perform, caller }: Asking, channel: string): Promise<void> {
  const [kind, ...rest] = channel.split(':')
  const id = rest.join(':')
  if (kind === 'job') await ofJob(id, '', perform(showRun, { id }))
  if (kind !== 'workflow') return
  const name = { dialect: 'ojs', id, startKey: startKeyOf(id, caller.tenant) }
  if ('within' in (await perform(findNamedInstance, name))) throw notFound('workflow', id)
}
