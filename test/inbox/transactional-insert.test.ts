/** An INSERT in the caller's own transaction: rolled back it leaves nothing, committed it is never lost. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { shell } from '../cli/petrel.ts'
import { Foreign, SHARED } from './foreign.ts'
import { eventually } from './stage.ts'

const sh = shell()

for (const place of SHARED) {
  describe(`an INSERT in the caller's own transaction (${place.name})`, () => {
    let url: string
    let drop: () => Promise<void>
    let foreign: Foreign
    beforeAll(async () => {
      const shared = await place.open()
      url = shared.url
      drop = shared.drop
      const store = await openStore(url)
      await store.migrate()
      await store.close()
      foreign = await Foreign.connect(url)
      await foreign.sql('CREATE TABLE invoice (id integer PRIMARY KEY)')
    })
    afterAll(async () => {
      await foreign.close()
      await drop()
    })

    const counts = async (): Promise<unknown> => {
      const { rows } = await foreign.sql(
        `SELECT (SELECT count(*) FROM workflow_run) AS runs, (SELECT count(*) FROM workflow_event) AS events,
                (SELECT count(*) FROM invoice) AS invoices`,
      )
      return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]))
    }

    it('rolled back, it leaves nothing: no run, no event, and the key is free', async () => {
      await foreign.sql('BEGIN')
      await foreign.sql('INSERT INTO invoice VALUES (1)')
      await foreign.insert('billing.invoice.v1', { invoice: 1 }, 'invoice:1')
      await foreign.sql('ROLLBACK')
      expect(await counts()).toEqual({ runs: 0, events: 0, invoices: 0 })
    })

    it('committed while no Petrel process runs, it is executed once when one starts, even if that one is killed', async () => {
      await foreign.sql('BEGIN')
      await foreign.sql('INSERT INTO invoice VALUES (1)')
      const id = (await foreign.insert('billing.invoice.v1', { invoice: 1 }, 'invoice:1')) as string
      await foreign.sql('COMMIT')
      expect(await counts()).toEqual({ runs: 1, events: 1, invoices: 1 })

      const handlers = sh.write(
        `${place.name}.mjs`,
        `import { appendFileSync } from 'node:fs'
         export default { 'billing.%': async (payload) => {
           appendFileSync(process.env.EFFECTS, JSON.stringify(payload) + '\\n')
           if (process.env.HANG) await new Promise((resolve) => setTimeout(resolve, 60000))
           return { sent: payload.invoice }
         } }`,
      )
      const effects = sh.write(`${place.name}.effects`, '')
      const start = (hang: string) => {
        sh.env = { EFFECTS: effects, ...(hang === '' ? {} : { HANG: hang }) }
        return sh.start('worker', '--store', url, '--handlers', handlers)
      }
      const lines = (): readonly string[] => readFileSync(effects, 'utf8').trim().split('\n')
      const first = start('yes')
      // It must be recorded as started, which happens a moment after the start: only then does a loss cost an attempt.
      const started = async (): Promise<boolean> =>
        (await foreign.sql(`SELECT 1 FROM workflow_run WHERE id = '${id}' AND started_at IS NOT NULL`)).rows.length ===
        1
      await eventually(started, 'the first worker began', 20_000)
      first.child.kill('SIGKILL')
      await first.ended
      const second = start('')
      // The first one's session is declared dead only after its time.
      await eventually(async () => (await foreign.status(id)) === 'succeeded', 'the second worker ended it', 60_000)
      second.child.kill('SIGTERM')
      await second.ended
      expect(lines()).toEqual(['{"invoice":1}', '{"invoice":1}'])
      const { rows } = await foreign.sql(`SELECT attempt, result FROM workflow_run WHERE id = '${id}'`)
      const { attempt, result } = rows[0] as { attempt: number; result: unknown }
      expect([attempt, typeof result === 'string' ? JSON.parse(result) : result]).toEqual([1, { sent: 1 }])
      expect((await sh.petrel('doctor', '--store', url)).code).toBe(0)
    }, 120_000)
  })
}
