/**
 * Checkpoints of jobs. The official client expects them under /checkpoints/:id, and sends the prefix /ojs/v1 twice.
 */
import { notFound, RequestError } from '../../../http/request-error.ts'
import type { RunStatus } from '../../../model/rows.ts'
import type { SavedRow } from '../../../model/saved.ts'
import {
  type CheckpointRefused,
  removeCheckpoint,
  saveCheckpoint,
  showCheckpoint,
} from '../../../operations/runs/checkpoints.ts'
import type { Value } from '../../../wire/schema.ts'
import { type OjsAsked, type OjsContext, route } from './context.ts'
import { ofJob } from './jobs/job-problem.ts'
import {
  CheckpointDeleted,
  CheckpointReply,
  CheckpointRequest,
  CheckpointResumed,
  checkpointText,
  checkpointWire,
} from './wire/checkpoint.ts'

const SAVE = {
  tag: 'Checkpoints',
  does: saveCheckpoint,
  description:
    'Replaces the previous one; `sequence` counts them. Allowed until the job has ended. With `worker_id` only ' +
    'while that worker holds the job.',
  body: { schema: CheckpointRequest, example: { state: { processed: 500, cursor: 'page-500' } } },
  answers: { '200': { description: 'It is saved.', schema: CheckpointReply } },
  errors: ['not_found', 'conflict', 'payload_too_large'],
} as const

const SHOW = {
  tag: 'Checkpoints',
  does: showCheckpoint,
  description: 'Also after the job has ended. A job that is started again receives it as `checkpoint`.',
  otherQuery: 'ignored',
  answers: { '200': { description: 'The latest.', schema: CheckpointReply } },
  errors: ['not_found'],
} as const

const REMOVE = {
  tag: 'Checkpoints',
  does: removeCheckpoint,
  description: 'Also if the job has no checkpoint. The next one has `sequence` 1.',
  answers: { '200': { description: 'The job has no checkpoint.', schema: CheckpointDeleted } },
  errors: ['not_found'],
} as const

const RESUME = {
  tag: 'Checkpoints',
  summary: 'Read the checkpoint of a job, if it has one (official client)',
  does: showCheckpoint,
  otherQuery: 'ignored',
  answers: { '200': { description: '`has_checkpoint` is true if there is one.', schema: CheckpointResumed } },
  errors: ['not_found'],
} as const

const SAVE_ALIAS = { ...SAVE, summary: 'Save a checkpoint (official client)' }
const SHOW_ALIAS = { ...SHOW, summary: 'Read the checkpoint of a job (official client)' }
const REMOVE_ALIAS = { ...REMOVE, summary: 'Delete the checkpoint of a job (official client)' }

export const CHECKPOINT_ROUTES = [
  route('PUT /ojs/v1/jobs/:id/checkpoint', { ...SAVE, summary: 'Save a checkpoint' }, save),
  route('POST /ojs/v1/jobs/:id/checkpoint', { ...SAVE, summary: 'Save a checkpoint (the same)' }, save),
  route('GET /ojs/v1/jobs/:id/checkpoint', { ...SHOW, summary: 'Read the checkpoint of a job' }, show),
  route('DELETE /ojs/v1/jobs/:id/checkpoint', { ...REMOVE, summary: 'Delete the checkpoint of a job' }, remove),

  route('POST /ojs/v1/checkpoints/:id', SAVE_ALIAS, save),
  route('GET /ojs/v1/checkpoints/:id', SHOW_ALIAS, show),
  route('DELETE /ojs/v1/checkpoints/:id', REMOVE_ALIAS, remove),
  route('GET /ojs/v1/checkpoints/:id/resume', RESUME, resume),

  route('POST /ojs/v1/ojs/v1/checkpoints/:id', SAVE_ALIAS, save),
  route('GET /ojs/v1/ojs/v1/checkpoints/:id', SHOW_ALIAS, show),
  route('DELETE /ojs/v1/ojs/v1/checkpoints/:id', REMOVE_ALIAS, remove),
  route('GET /ojs/v1/ojs/v1/checkpoints/:id/resume', RESUME, resume),
]

type Asked = OjsAsked & { readonly params: { readonly id: string } }

async function save(
  { params: { id }, body, perform, request }: Asked & { readonly body: Value<typeof CheckpointRequest> },
  { voices }: OjsContext,
): Promise<Value<typeof CheckpointReply>> {
  const worker = body.worker_id ?? null
  const asked = { id, state: checkpointText(body), worker, speaker: voices.speakerOf(request) }
  const saved = await ofJob(id, 'active', perform(saveCheckpoint, asked))
  if ('status' in saved) throw notSaved(id, saved)
  return wire(saved)
}

async function show({ params: { id }, perform }: Asked): Promise<Value<typeof CheckpointReply>> {
  const { saved } = await ofJob(id, '', perform(showCheckpoint, { id }))
  if (saved !== null) return wire(saved)
  throw notFound('checkpoint', id, 'The job exists and has saved no checkpoint, or it was deleted.')
}

async function remove({ params: { id }, perform }: Asked): Promise<Value<typeof CheckpointDeleted>> {
  const removed = await ofJob(id, '', perform(removeCheckpoint, { id }))
  return { deleted: true, job_id: removed.id }
}

async function resume({ params, perform }: Asked): Promise<Value<typeof CheckpointResumed>> {
  const { id, saved } = await ofJob(params.id, '', perform(showCheckpoint, params))
  if (saved === null) return { job_id: id, has_checkpoint: false }
  return { job_id: id, has_checkpoint: true, checkpoint: checkpointWire(saved) }
}

function wire(saved: SavedRow): Value<typeof CheckpointReply> {
  const checkpoint = checkpointWire(saved)
  return { ...checkpoint, checkpoint }
}

const WORDS: Readonly<Record<RunStatus, string>> = {
  pending: 'not active',
  leased: 'active',
  succeeded: 'completed',
  failed: 'discarded',
  cancelled: 'cancelled',
}

/** `holder`: null if the request did not name a worker. */
function notSaved(id: string, { status, holder }: CheckpointRefused): RequestError {
  if (status === null) return notFound('job', id)
  const held = status === 'leased'
  const message = held ? `job ${id} is held by another worker than ${holder}` : `job ${id} is ${WORDS[status]}`
  return new RequestError('conflict', message, {
    details: {
      job_id: id,
      ...(status === 'pending' ? {} : { current_state: WORDS[status] }),
      expected_state: 'active',
    },
    hint: held
      ? 'The lease of this worker has ended; stop working on the job.'
      : 'Only a job that a worker executes accepts this; one that has ended is not changed any more.',
  })
}
