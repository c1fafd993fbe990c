/** A checkpoint as it is shown: by itself, and in a job that is started again. */

import type { SavedRow } from '../../../model/saved.ts'
import type { Json } from '../../../net/net.ts'
import type { JsonObject } from '../project/envelope.ts'
import { timeText } from '../project/time.ts'

export function checkpointWire(saved: SavedRow): JsonObject {
  const at = timeText(saved.updatedAt)
  const kept = JSON.parse(saved.state as string) as Json
  const parts = wrapped(kept) ?? { state: kept }
  return { job_id: saved.runId, ...parts, sequence: saved.sequence, created_at: at, updated_at: at }
}

function wrapped(kept: Json): JsonObject | null {
  if (kept === null || typeof kept !== 'object' || Array.isArray(kept)) return null
  const { petrel, ...rest } = kept as JsonObject
  const ours = petrel !== undefined && Object.keys(rest).length === 0
  return ours && petrel !== null && typeof petrel === 'object' ? (petrel as JsonObject) : null
}
