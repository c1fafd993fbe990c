/**
 * The text sent to a worker over HTTP for its leased runs. A run that cannot be written fails, so that it is not handed
 * out repeatedly; the others are delivered. Runs beyond the size limit of one answer are returned, for the next fetch;
 * if nothing can be delivered now, all are.
 */
import type { EngineApi } from '../../engine/api.ts'
import { MAX_BATCH_BYTES } from '../../kernel/limits.ts'
import { inputPlace } from '../../model/retried-runs.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Json } from '../../net/net.ts'
import { operation } from '../operation.ts'
import { giveBack } from './leases.ts'

/**
 * The number of texts made at the same time grows by this factor at most, since the lengths of earlier ones are known.
 */
const GROWTH = 4

export interface Delivery {
  /** As they were fetched. */
  readonly runs: readonly RunRow[]
  /** In the order of the runs: the text of each, or the error that prevents it. */
  readonly write: (some: readonly RunRow[]) => Promise<readonly unknown[]>
}

export const deliverRuns = operation(
  { scope: 'work' },
  async ({ engine }, delivery: Delivery): Promise<readonly string[]> => {
    try {
      return await texts(engine, delivery)
    } catch (error) {
      await giveBack(engine, delivery.runs, 'released').catch(() => undefined)
      throw error
    }
  },
)

async function texts({ leases }: EngineApi, { runs, write }: Delivery): Promise<readonly string[]> {
  const written: string[] = []
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
        full = written.length > 0 && bytes + size > MAX_BATCH_BYTES
        if (full) break
        bytes += size
        written.push(text)
      } else refused.push({ run: some[i] as RunRow, error: text })
      done++
    }
  }
  if (refused.length > 0) await leases.refuse(refused)
  if (done < runs.length) await leases.giveBack(runs.slice(done))
  return written
}

/** How many more will probably fit, judging by earlier ones. */
function fitting(bytes: number, done: number): number {
  return Math.max(1, Math.floor(((MAX_BATCH_BYTES - bytes) * done) / Math.max(1, bytes)))
}

/** The input of a run's handler besides its arguments. */
export interface RunInputs {
  /** Results of the earlier steps, by step (JSON text); null: the run belongs to no workflow. */
  readonly before: ReadonlyMap<string, string | null> | null
  /** The program of its step, if the type alone does not determine the work; null: none. */
  readonly program: Json | null
}

export const NO_INPUTS: RunInputs = { before: null, program: null }

/** false: the run is of no workflow, and has none. */
export function needsInputs(run: RunRow): boolean {
  return inputPlace(run).instanceId !== null
}

export const runInputs = operation({ scope: 'work' }, async ({ engine }, run: RunRow): Promise<RunInputs> => {
  const [before, program] = await Promise.all([engine.resultsBefore(run), engine.program(run)])
  return { before, program }
})
