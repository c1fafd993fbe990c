/**
 * Webhooks survive kill -9: a real server process is killed while the receiver has an event and has not answered, with
 * more events waiting. The next server delivers them all, the unanswered one under the same id as before.
 */
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/open.ts'
import { type Running, shell } from '../../cli/petrel.ts'
import { freshDatabase, postgresUrl } from '../../services.ts'
import { request } from '../serving.ts'
import { Receiver } from './receiver.ts'

const ROUNDS = 3
const BASE = '/ojs/v1/webhooks/subscriptions'

describe('a server killed between event and delivery', () => {
  const sh = shell()
  const drops: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const drop of drops) await drop()
  })

  const serve = async (store: string): Promise<{ readonly url: string; readonly running: Running }> => {
    const running = sh.start('server', '--store', store, '--port', '0', '--json')
    const [, url] = await running.until(/"url":"([^"]+)"/)
    return { url: url as string, running }
  }

  const stores: readonly (readonly [string, () => Promise<string>])[] = [
    ['sqlite', async () => `sqlite:${join(sh.dir, 'hooks.db')}`],
    [
      'postgres',
      async () => {
        const { url, drop } = await freshDatabase()
        drops.push(drop)
        return url
      },
    ],
  ]

  for (const [kind, make] of stores) {
    it.skipIf(kind === 'postgres' && postgresUrl() === null)(
      `loses nothing (${kind}, ${ROUNDS} rounds)`,
      async () => {
        const store = await make()
        const receiver = await Receiver.open()
        let { url, running } = await serve(store)
        const created = await request(url + BASE, 'POST', {
          body: { url: receiver.url('/hook'), events: ['job.enqueued'], ordered: true },
        })
        expect(created.status).toBe(201)
        const { id } = created.body
        const clock = await openStore(store)
        const wanted: string[] = []
        for (let round = 1; round <= ROUNDS; round++) {
          const before = receiver.of(id).length
          // Receives, and never answers.
          receiver.answer = () => {}
          for (let i = 0; i < 5; i++) {
            const { body } = await request(`${url}/ojs/v1/jobs`, 'POST', {
              body: { type: 'test.crash', args: [round, i] },
            })
            wanted.push(body.id)
          }
          await receiver.hears(id, before + 1)
          running.child.kill('SIGKILL')
          await running.ended
          receiver.answer = (_, response) => void response.end('OK')
          // The lease of the dead server expires.
          await clock.moveClock(round * 20_000)
          ;({ url, running } = await serve(store))
          const heard = await receiver.hears(id, before + 6, 30_000)
          const now = heard.slice(before)
          const ids = now.map(({ headers }) => headers['x-ojs-delivery-id'])
          expect(ids[1]).toBe(ids[0])
          expect(new Set(ids).size).toBe(5)
        }
        await clock.close()
        const once = [...new Set(receiver.of(id).map(({ event }) => event.data.job_id))]
        expect(once).toEqual(wanted)
        const log = await request(`${url}${BASE}/${id}/deliveries?limit=100`, 'GET')
        expect(log.body.deliveries).toHaveLength(5 * ROUNDS)
        running.child.kill('SIGTERM')
        expect((await running.ended).code).toBe(0)
      },
      120_000,
    )
  }
})
