/**
 * What was leased to a worker over HTTP, as the text it is sent. A run that cannot be written fails, so that it is not
 * given out again and again; its neighbours are delivered. Those beyond the bytes of one answer go back, for the next fetch; if
 * nothing can be delivered now, all do.
 */

import type { EngineApi } from '../engine/api.ts'
import { MAX_BATCH_BYTES } from '../kernel/limits.ts'
import type { RunRow } from '../model/rows.ts'

/** Texts made at the same time are at most so many times as many as before: how long they are is known from those. */
const GROWTH = 4

/** `write` gives, in the order of the runs, the text of each, or why there is none. */
export async function delivered(
  engine: EngineApi,
  runs: readonly RunRow[],
  write: (some: readonly RunRow[]) => Promise<readonly unknown[]>,
): Promise<readonly string[]> {
  try {
    const texts: string[] = []
    const refused: { readonly run: RunRow; readonly error: unknown }[] = []
    let bytes = 0
    let done = 0
    for (
      let count = 1, full = false;
      done < runs.length && !full;
      count = Math.min(count * GROWTH, fitting(bytes, done))
    ) {
      const some = runs.slice(done, done + count)
      for (const [i, text] of (await write(some)).entries()) {
        if (typeof text === 'string') {
          const size = Buffer.byteLength(text)
          full = texts.length > 0 && bytes + size > MAX_BATCH_BYTES
          if (full) break
          bytes += size
          texts.push(text)
        } else refused.push({ run: some[i] as RunRow, error: text })
        done++
      }
    }
    if (refused.length > 0) await engine.leases.refuse(refused)
    if (done < runs.length) await engine.leases.giveBack(runs.slice(done))
    return texts
  } catch (error) {
    const held = runs.map(({ id: runId, leasedBy: holder, epoch }) => ({ runId, holder, epoch, attempt: null }))
    await engine.leases.settle(held.map((one) => ({ ...one, outcome: { kind: 'released' } }))).catch(() => undefined)
    throw error
  }
}

/** How many more will probably fit, if they are like those before. */
function fitting(bytes: number, done: number): number {
  return Math.max(1, Math.floor(((MAX_BATCH_BYTES - bytes) * done) / Math.max(1, bytes)))
}

/** JSON text, or the error that it throws. */
export function written(value: unknown): unknown {
  try {
    return JSON.stringify(value)
  } catch (error) {
    return error
  }
}
