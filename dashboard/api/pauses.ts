/** What is paused. */
import type { Answer } from './answer.ts'
import { rowsUpTo } from './batches.ts'
import { api } from './client.ts'

export type Pause = Answer<'GET /v1/pauses'>['pauses'][number]

const MOST = 1_000

/** Of one kind, by name. */
export async function pausesOf(kind: Pause['kind'], signal: AbortSignal): Promise<ReadonlyMap<string, Pause>> {
  const { rows } = await rowsUpTo<Pause, string>(MOST, async (before) => {
    const query = { limit: 100, ...(before === null ? {} : { before }) }
    const { pauses, next_before: next } = await api('GET /v1/pauses', { query, signal })
    return { rows: pauses, next }
  })
  return new Map(
    rows.filter((pause) => pause.kind === kind && pause.state !== 'resuming').map((pause) => [pause.name, pause]),
  )
}
