/**
 * A process caches the rows it wrote last, and decides from them without reading again. Here a decision writes one
 * workflow and only reads another one, whose run a second process has handed out again in the meantime.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LeaseSettled } from '../../src/model/leases.ts'
import type { RunRow } from '../../src/model/rows.ts'
import { net, node, PLACES } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

/** Workflows whose ids share this are settled together. */
const laneOf = (id: string): number => Number.parseInt(id.slice(-4), 16) % 3

describe.each(PLACES)('cached rows that a decision only reads, on $name', (place) => {
  let pair: TwoEngines
  beforeEach(async () => {
    pair = await TwoEngines.open(place)
  })
  afterEach(async () => {
    await pair.stop()
    await pair.drop()
  })

  it('do not decide: the report of the new holder is recorded, though the cache names the old one', async () => {
    const [here, there] = pair.engines
    const started = await here.start(Array.from({ length: 4 }, () => ({ net: net([node('a')]) })))
    const held = await pair.fetch(here, 'old', 4, 0)
    expect(held.map(({ instanceId }) => instanceId).sort()).toEqual(started.map(({ id }) => id).sort())
    // Of four, two share one of three lanes.
    const lanes = held.map(({ instanceId }) => laneOf(instanceId as string))
    const first = lanes.findIndex((lane, i) => lanes.indexOf(lane, i + 1) > 0)
    const own = held[first] as RunRow
    const moved = held[lanes.indexOf(lanes[first] as number, first + 1)] as RunRow

    const released = { runId: moved.id, holder: 'old', attempt: null, outcome: { kind: 'released' } } as const
    expect(await there.leases.settle([released])).toMatchObject([{ run: { status: 'pending' } }])
    expect(await pair.fetch(there, 'new', 4, 0)).toMatchObject([{ id: moved.id, leasedBy: 'new' }])

    const transact = vi.spyOn(here.store, 'transact')
    const outcome = { kind: 'succeeded', result: 7 } as const
    const settled = await here.leases.settle([
      { runId: own.id, holder: 'old', attempt: null, outcome },
      { runId: moved.id, holder: 'new', attempt: null, outcome },
    ])
    expect(transact).toHaveBeenCalledTimes(1)
    expect(settled.map((one) => (one as LeaseSettled).run?.status ?? one)).toEqual(['succeeded', 'succeeded'])
    for (const { instanceId } of [own, moved]) {
      expect((await here.view(instanceId as string))?.instance.state).toBe('completed')
    }
  })
})
