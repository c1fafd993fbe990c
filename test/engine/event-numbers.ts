import { expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'

/** The number of each ended run equals that of the event that records its end. */
export async function expectNumbered(store: Store, instanceId: string): Promise<void> {
  const events = await store.read.instanceEvents({ instanceId, afterSeq: 0, limit: 1000 })
  const runs = await store.read.instanceRuns({ instanceId, limit: 1000, after: null })
  const ended = runs.filter(({ status }) => status !== 'pending' && status !== 'leased')
  expect(ended).not.toEqual([])
  for (const { id, status, doneSeq } of ended) {
    const line = events.find(({ seq }) => seq === doneSeq)
    expect(line, `line ${doneSeq} of the history`).toMatchObject({ runId: id, type: status })
  }
}
