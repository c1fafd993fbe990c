/** A client that writes deep and huge JSON by plain SQL: each statement is refused, and no other client is affected. */
import { expect, it } from 'vitest'
import { Foreign } from '../inbox/foreign.ts'
import { onBothStores } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const DEEP = `${'['.repeat(6_500)}${']'.repeat(6_500)}`
const HUGE = `"${'x'.repeat(2_000_000)}"`

onBothStores('JSON by plain SQL', (stage) => {
  it('that is too deep or too large is refused, and the rest continues', async () => {
    const serving = await stage.serve()
    const neighbour = await Neighbour.of(serving)
    await neighbour.calm(4)
    const go = await Foreign.connect(await stage.url())
    try {
      await neighbour.beside(async () => {
        for (let round = 0; round < 8; round++) {
          const value = round % 2 === 0 ? DEEP : HUGE
          const write = (text: string): Promise<unknown> => expect(go.sql(text)).rejects.toThrow(/payload|result|data/)
          await write(`INSERT INTO workflow_run (type, payload) VALUES ('bad.v1', '${value}')`)
          const id = (await go.insert('good.v1')) as string
          await go.claimed('go-1', 'good.%')
          await write(`UPDATE workflow_run SET status = 'succeeded', result = '${value}' WHERE id = '${id}'`)
          await write(
            `INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ('${id}', 'app.note', '${value}')`,
          )
          await go.succeed(id, round)
        }
      })
    } finally {
      await go.close()
    }
    await neighbour.expectUnaffected()
    const { runs } = (await serving.get('/v1/runs?limit=100')).body as { runs: { type: string; status: string }[] }
    const own = runs.filter(({ type }) => type.endsWith('.v1')).map(({ type, status }) => `${type} ${status}`)
    expect(own).toEqual(Array.from({ length: 8 }, () => 'good.v1 succeeded'))
  }, 120_000)
})
