/** Whether the store answers, and accepts writes. Open to any caller: a probe has no key. */
import type { EngineApi } from '../../engine/api.ts'
import { StoreError } from '../../kernel/store-errors.ts'
import { operation } from '../operation.ts'

const PATIENCE_MS = 2_000

export interface StoreHealth {
  readonly kind: EngineApi['storage']['kind']
  readonly answers: boolean
  readonly latencyMs: number
}

export const storeHealth = operation('none', async ({ engine }, _: null): Promise<StoreHealth> => {
  const began = performance.now()
  const answers = await inTime(engine.queries.now()).then(
    () => true,
    () => false,
  )
  return { kind: engine.storage.kind, answers, latencyMs: performance.now() - began }
})

/** Writes as much as a large step would, and rolls it back. Returns why that failed; null: it did not. */
export const tryWrite = operation('none', async ({ engine }, _: null): Promise<string | null> => {
  try {
    await inTime(engine.storage.probeWrite())
    return null
  } catch (error) {
    if (!(error instanceof StoreError)) return 'the store does not answer'
    return `the store takes no writes (${error.code})`
  }
})

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

export interface Finding {
  readonly check: string
  readonly subject: string
  readonly finding: string
}

/** Invariants that hold in every committed state, and rows that violate them. */
export const checkInvariants = operation(
  { scope: 'admin', shared: true },
  ({ engine }, _: null): Promise<readonly Finding[]> => engine.queries.doctor(),
)
