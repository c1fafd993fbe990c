/** The audit trail accepts every declared type of event, dotted words of clients, and no other word. */
import { expect, it } from 'vitest'
import { EVENT_TYPES, isRunEvent } from '../../src/model/events/events.ts'
import { anEvent, aRun } from './rows.ts'
import { put } from './subject.ts'
import type { Current } from './suite.ts'

export function eventTypeTopic(current: Current): void {
  it('stores events of every declared type, and reads unknown types', async () => {
    const { store } = current()
    const run = aRun()
    await put(store, { runs: { insert: [run] } })
    const types = [...EVENT_TYPES, 'app.note']
    await put(store, { events: types.map((type) => anEvent({ type, runId: isRunEvent(type) ? run.id : null })) })
    const read = await store.read.feed({ afterId: 0, limit: 1000 })
    expect(read.map(({ type }) => type)).toEqual(types)
  })

  it('refuses a word without a dot that is not declared', async () => {
    const { store } = current()
    for (const type of ['gone', 'createdx', '']) {
      await expect(put(store, { events: [anEvent({ type })] })).rejects.toThrow()
    }
  })
}
