/** Keys of the engine and of tenants cannot be written by plain SQL. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('idempotency keys by plain SQL on $name', (place) => {
  let s: Stage
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    go = await s.foreign()
  })
  afterEach(() => s.close())

  const insert = (key: string): Promise<string | null> => go.insert('x.v1', {}, key)

  it.each(['petrel:cron:nightly:1', 'ojs::flow', '@acme/invoice:7', '@/x'])('%s is refused', async (key) => {
    await expect(insert(key)).rejects.toThrow(/idempotency_key.*begins with none of petrel:, ojs: and @/)
  })

  it.each(['invoice:7', 'petrel', 'a@b', 'schedule:x:1'])('%s is accepted', async (key) => {
    expect(await insert(key)).not.toBeNull()
  })
})
