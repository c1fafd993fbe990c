/** Runs with a fair key, by plain SQL. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('fair keys by plain SQL on $name', (place) => {
  let stage: Stage
  let client: Foreign
  beforeAll(async () => {
    stage = await Stage.open(place)
    client = await stage.foreign()
  })
  afterAll(() => stage.close())

  const insert = (key: string) =>
    client.sql(
      `INSERT INTO workflow_run (type, payload, queue, fair_key) VALUES ('fair.mail.v1', '"${key}"', 'fair', '${key}') RETURNING id`,
    )

  it('take their turns', async () => {
    for (const key of ['a', 'a', 'a', 'b']) await insert(key)
    const session = await stage.d.newSession({ queues: ['fair'] })
    expect((await session.claim(3)).map(({ payload }) => JSON.parse(payload))).toEqual(['a', 'b', 'a'])
  })

  it.each(['', 'x'.repeat(256), '@tenant/a'])('refuses %j, and says why', async (key) => {
    const error = await insert(key).catch((thrown: unknown) => thrown)
    expect((error as Error).message).toMatch(/fair_key.*1 to 255 characters/)
  })
})
