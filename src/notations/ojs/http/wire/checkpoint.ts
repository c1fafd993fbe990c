/** A checkpoint as it is saved and shown: by itself, and in a job that is started again. */

import { RequestError } from '../../../../http/request-error.ts'
import { unstorable } from '../../../../kernel/json-limits.ts'
import type { JsonText } from '../../../../model/rows.ts'
import type { SavedRow } from '../../../../model/saved.ts'
import type { Json } from '../../../../net/net.ts'
import {
  anything,
  asked,
  extensible,
  flag,
  named,
  object,
  optional,
  text,
  time,
  type Value,
  whole,
} from '../../../../wire/schema.ts'
import type { JsonObject } from '../../project/envelope.ts'
import { timeText } from '../../project/time.ts'
import { WORKER_ID } from './fields.ts'

const MAX_CHECKPOINT_BYTES = 1024 * 1024

export const CheckpointRequest = extensible(
  asked('a checkpoint', {
    state: anything({ description: 'Any JSON, up to 1 MB.', hint: '{ "state": … }: any JSON value, up to 1 MB.' }),
    worker_id: optional({ ...WORKER_ID, description: 'If given, the worker that must hold the job.' }),
    step_index: optional(anything('Stored with the state.')),
    metadata: optional(anything('Stored with the state.')),
  }),
)

const SHOWN = {
  job_id: text(),
  state: anything('As saved.'),
  step_index: optional(anything('As saved.')),
  metadata: optional(anything('As saved.')),
  sequence: whole('Saves since the first, or since the last deletion.'),
  created_at: time(),
  updated_at: time(),
}

export const Checkpoint = named('Checkpoint', object(SHOWN))

export type CheckpointWire = Value<typeof Checkpoint>

export const CheckpointReply = named(
  'CheckpointReply',
  object({ ...SHOWN, checkpoint: Checkpoint }, 'The fields of the checkpoint are at the top as well.'),
)

export const CheckpointResumed = object({
  job_id: text(),
  has_checkpoint: flag(),
  checkpoint: optional(Checkpoint),
})

export const CheckpointDeleted = object({ deleted: flag(), job_id: text() })

/** A bare state is stored as it is, so that workers of every kind read each other's; with more, all of it is wrapped. */
export function checkpointText(body: Value<typeof CheckpointRequest>): JsonText {
  const { state, step_index: stepIndex, metadata } = body
  const bare = stepIndex === undefined && metadata === undefined
  const given = JSON.stringify(bare ? state : { petrel: { state, step_index: stepIndex, metadata } })
  const error = unstorable(given, MAX_CHECKPOINT_BYTES)
  if (error === null) return given
  throw new RequestError(
    error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_payload',
    `state: ${error.message}`,
    { details: { field: 'state', max_bytes: MAX_CHECKPOINT_BYTES } },
  )
}

export function checkpointWire(saved: SavedRow): CheckpointWire {
  const at = timeText(saved.updatedAt)
  const kept = JSON.parse(saved.state as string) as Json
  const { state, ...more } = wrapped(kept) ?? { state: kept }
  return { job_id: saved.runId, state, ...more, sequence: saved.sequence, created_at: at, updated_at: at }
}

function wrapped(kept: Json): JsonObject | null {
  if (kept === null || typeof kept !== 'object' || Array.isArray(kept)) return null
  const { petrel, ...rest } = kept as JsonObject
  const ours = petrel !== undefined && Object.keys(rest).length === 0
  return ours && petrel !== null && typeof petrel === 'object' ? (petrel as JsonObject) : null
}
