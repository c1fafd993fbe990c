/** All rows of an instance, page by page, kept up to date; the larger it is, the less often. */
import { api } from '../api/client.ts'
import { type Live, useLive } from '../api/live.ts'
import { type Row, rowsOf } from './decode.ts'

export interface TimelineData {
  readonly rows: readonly Row[]
  /** The server's clock minus that of the window. */
  readonly skewMs: number
  readonly hasEnded: boolean
}

const PAGE = 1_000
const EVERY_MS = 1_000

export function useTimeline(id: string): Live<TimelineData> {
  let pages = 1
  let readAt = Number.NEGATIVE_INFINITY
  const load = async (signal: AbortSignal): Promise<TimelineData> => {
    // A timeline of ten pages is read at most every ten seconds.
    await delay(readAt + (pages - 1) * EVERY_MS - performance.now(), signal)
    const { count, ...data } = await readAll(id, signal)
    pages = count
    readAt = performance.now()
    return data
  }
  return useLive(`timeline ${id}`, load, {
    concerns: ({ instances, more }) => more || instances.has(id),
    atMostEveryMs: EVERY_MS,
  })
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

async function readAll(id: string, signal: AbortSignal): Promise<TimelineData & { readonly count: number }> {
  const rows: Row[] = []
  let after: string | null = null
  for (let count = 1; ; count++) {
    const answer: Awaited<ReturnType<typeof readPage>> = await readPage(id, after, signal)
    rows.push(...rowsOf(answer))
    after = answer.next_after
    const skewMs = Date.parse(answer.now) - Date.now()
    if (after === null) return { rows, skewMs, hasEnded: answer.instance.ended_at !== null, count }
  }
}

function readPage(id: string, after: string | null, signal: AbortSignal) {
  const query = { limit: PAGE, ...(after === null ? {} : { after }) }
  return api('GET /v1/instances/:id/timeline', { params: { id }, query, signal })
}
