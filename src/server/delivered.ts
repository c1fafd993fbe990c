/**
 * What was leased to a worker over HTTP, as the text it is sent. A run that cannot be written fails, so that it is not
 * given out again and again; its neighbours are delivered. If nothing can be delivered now, all go back.
 */
import type { EngineApi } from '../engine/api.ts'
import type { RunRow } from '../store/rows.ts'

/** `write` gives, in the order of the runs, the text of each, or why there is none. */
export async function delivered(
  engine: EngineApi,
  runs: readonly RunRow[],
  write: () => Promise<readonly unknown[]>,
): Promise<readonly string[]> {
  try {
    const texts = await write()
    const refused = runs.flatMap((run, i) => (typeof texts[i] === 'string' ? [] : [{ run, error: texts[i] }]))
    if (refused.length > 0) await engine.leases.refuse(refused)
    return texts.filter((text) => typeof text === 'string')
  } catch (error) {
    const held = runs.map(({ id: runId, leasedBy: holder, epoch }) => ({ runId, holder, epoch, attempt: null }))
    await engine.leases.settle(held.map((one) => ({ ...one, outcome: { kind: 'released' } }))).catch(() => undefined)
    throw error
  }
}

/** JSON text, or the error that it throws. */
export function written(value: unknown): unknown {
  try {
    return JSON.stringify(value)
  } catch (error) {
    return error
  }
}
