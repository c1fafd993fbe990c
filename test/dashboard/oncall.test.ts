/**
 * The walkthrough of docs/operate/README.md in the dashboard: 300 orders have failed for three reasons, one of which can be
 * repaired. The server is a process of its own, which is killed on the way.
 */
import { rmSync } from 'node:fs'
import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chain, job, Petrel, Terminal } from '../../src/index.ts'
import { type Running, shell } from '../cli/petrel.ts'
import { client, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { inBrowser, openWindow, type Window } from './browser.ts'

const CAUSES = { card_declined: 150, no_address: 90, bank_down: 60 }
/** What a killed server had in hand waits for 15 seconds. */
const TAKEN_OVER_MS = 60_000

type Kind = 'sqlite' | 'postgres'

inBrowser('a bad night', () => {
  const kinds: readonly Kind[] = postgresUrl() === null ? ['sqlite'] : ['sqlite', 'postgres']
  describe.each(kinds)('on %s', (kind) => {
    const sh = shell()
    let store: string
    let drop: () => Promise<void>
    let petrel: Petrel
    let server: Running
    let url: string
    let bankIsDown = true

    /** A process; a later one on the same port. */
    const serve = async (port: string): Promise<void> => {
      server = sh.start('server', '--port', port, '--store', store)
      const [, found] = await server.until(/listening on (http:\/\/\S+?),/)
      url = found as string
    }
    beforeAll(async () => {
      const place = kind === 'sqlite' ? null : await freshDatabase()
      store = place === null ? `sqlite:${sh.dir}/petrel.db` : place.url
      drop = async () => place?.drop()
      await serve('0')
      petrel = await Petrel.open(store)
      petrel.handle('order.pay', ({ cause }: { readonly cause: string }) => {
        if (cause !== 'bank_down' || bankIsDown) throw new Terminal(`the order failed: ${cause}`, { code: cause })
        return { paid: true }
      })
      await petrel.work({ concurrency: 20 })
      const orders = Object.entries(CAUSES).flatMap(([cause, count]) =>
        Array.from({ length: count }, (_, order) => chain(job('order.pay', { cause, order }))),
      )
      const started = await petrel.startMany(orders, { name: 'order' })
      await Promise.allSettled(started.map((order) => order.result()))
      bankIsDown = false
    }, 120_000)
    afterAll(async () => {
      await petrel?.close({ graceMs: 0 })
      server.child.kill('SIGKILL')
      await server.ended
      await drop()
      rmSync(sh.dir, { recursive: true, force: true })
    })

    it('the repairable orders are retried from the overview in four clicks, through a stop and a killed server', async () => {
      const window: Window = await openWindow({ server: { url } as never }, { allowed: /ERR_|status of/ })
      const { page, go } = window
      const button = (name: string | RegExp): Locator => page.getByRole('button', { name })
      let clicks = 0
      const click = async (target: Locator): Promise<void> => {
        await target.click()
        clicks++
      }
      await go('/')
      await click(page.getByRole('link', { name: 'the order failed: bank_down' }))
      const left = page.locator('.repair .figure')
      const progress = page.locator('.repair .progress-words strong')
      await left.filter({ hasText: /^60$/ }).waitFor()
      await click(button('Retry all …'))
      await page.getByRole('dialog').getByText('60 instances', { exact: true }).waitFor()
      await page.getByLabel(/Per minute/).fill('300')
      await click(button('Retry 60 instances'))
      expect(clicks).toBeLessThanOrEqual(4)
      await left.filter({ hasNotText: /^60$/ }).waitFor()

      await click(button('Stop'))
      await page
        .getByRole('status')
        .getByText(/The operation is stopped/)
        .waitFor()
      expect(await progress.textContent()).not.toContain('60 of 60')
      await click(button('Resume'))
      await page.getByRole('status').getByText('The operation continues.').waitFor()

      server.child.kill('SIGKILL')
      await server.ended
      await page.getByRole('alert').filter({ hasText: 'The server has not answered' }).waitFor({ timeout: 20_000 })
      // The last data stay.
      await left.waitFor()
      await serve(new URL(url).port)
      await page.getByRole('alert').waitFor({ state: 'detached', timeout: 20_000 })
      await left.filter({ hasText: /^0$/ }).waitFor({ timeout: TAKEN_OVER_MS })
      await progress.filter({ hasText: '60 of 60' }).waitFor({ timeout: TAKEN_OVER_MS })
      await page.getByText('60 succeeded').waitFor()
      expect(clicks).toBe(5)

      const { get } = client(url)
      const count = async (q: string): Promise<number> => {
        const { body } = await get(`/v1/instances/counts?q=${encodeURIComponent(q)}`)
        return body.counts.reduce((sum: number, one: { readonly count: number }) => sum + one.count, 0)
      }
      expect(
        await until(
          () => count('name:order state:completed'),
          (found) => found === 60,
        ),
      ).toBe(60)
      expect(await count('error:card_declined')).toBe(150)
      expect(await count('error:no_address')).toBe(90)
      await window.close()
    }, 180_000)
  })
})
