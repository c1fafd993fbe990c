/** What surrounds every page: sign-in, the keyboard, the palette, colours, and a server that goes and returns. */
import { describe, expect, it } from 'vitest'
import type { Scope } from '../../src/operations/caller.ts'
import { makeKey } from '../../src/operations/keys/api-key.ts'
import { onBothStores, type Serving, serveOn } from '../server/serving.ts'
import { expectAccessible, inBrowser, openWindow } from './browser.ts'

async function addKey(
  { store }: Serving,
  scopes: readonly Scope[],
): Promise<{ readonly id: string; readonly text: string }> {
  const { id, hash, text } = makeKey()
  const times = { createdAt: Date.now(), expiresAt: null, revokedAt: null }
  await store.keys.add({ id, hash, subject: 'ann', scopes, roles: [], tenant: null, ...times })
  return { id, text }
}

/** Of a request that a page makes to find out who the user is, or without a permission. */
const REFUSED = /status of (?:401|403|404)/

inBrowser('the frame of the dashboard', () => {
  onBothStores('signing in', (stage) => {
    it('takes a key, shows who is signed in, and disables what the key may not do, with the reason', async () => {
      const open = await stage.serve()
      const key = await addKey(open, ['read'])
      const s = await stage.serve({ auth: 'required' })
      await open.post('/ojs/v1/jobs', { type: 'mail.send', args: [], options: { queue: 'mail' } })
      const { page, go, errors, close } = await openWindow(s, { allowed: REFUSED, bypassCSP: true })
      await go('/queues')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await expectAccessible(page)

      await page.getByLabel('API key').fill('petrel_wrong')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: 'this is not an API key' }).waitFor()

      await page.getByLabel('API key').fill(key.text)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Queues and limits' }).waitFor()
      await page.getByText('ann · all tenants').waitFor()
      const pause = page.getByRole('button', { name: /^Pause/ })
      expect(await pause.getAttribute('aria-disabled')).toBe('true')
      expect(await pause.textContent()).toContain('needs the scope admin; your key has read')
      await pause.press('Enter')
      await page.getByRole('status').getByText('Pause: needs the scope admin').waitFor()
      expect((await open.get('/v1/queues/mail/stats')).body.paused).toBe(false)

      // Scripts of the page cannot read the cookie, and nothing keeps the key.
      expect(
        await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)'),
      ).not.toMatch(/petrel_/)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(errors()).toEqual([])
      await close()
    })

    it('asks again when the key is revoked', async () => {
      const open = await stage.serve()
      const key = await addKey(open, ['admin'])
      const s = await stage.serve({ auth: 'required' })
      const { page, go, close } = await openWindow(s, { allowed: REFUSED })
      await go('/queues')
      await page.getByLabel('API key').fill(key.text)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Queues and limits' }).waitFor()
      await s.store.keys.revoke(key.id)
      await page.getByRole('heading', { name: 'Sign in' }).waitFor({ timeout: 20_000 })
      await close()
    })
  })

  describe('without the mouse', () => {
    it('the keys of the help lead to pages, to the search and to actions', async () => {
      const s = await serveOn('sqlite::memory:')
      await s.post('/ojs/v1/jobs', { type: 'mail.send', args: [], options: { queue: 'mail' } })
      const { page, go, errors, close } = await openWindow(s, { bypassCSP: true })
      await go('/')
      await page.keyboard.press('g')
      await page.keyboard.press('q')
      await page.getByRole('heading', { name: 'Queues and limits' }).waitFor()

      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).getByText('go to Schedules').waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })

      await page.getByRole('region', { name: 'Queue mail' }).waitFor()
      await page.keyboard.press('.')
      const actions = page.getByRole('dialog', { name: 'Actions' })
      await actions.waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.keyboard.press('p')
      await page.getByRole('status').getByText('Queue mail is paused').waitFor()
      expect((await s.get('/v1/queues/mail/stats')).body.paused).toBe(true)

      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('sched')
      await page.getByRole('option', { name: /Schedules/ }).waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Schedules' }).waitFor()
      expect(errors()).toEqual([])
      await close()
      await s.server.close()
      await s.engine.close()
      await s.store.close()
    })

    it('the colours chosen by the user stay', async () => {
      const s = await serveOn('sqlite::memory:')
      const { page, go, close } = await openWindow(s)
      const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
      await go('/')
      const light = await background()
      await page.getByRole('button', { name: /Colours/ }).click()
      await page.getByRole('button', { name: /Colours/ }).click()
      expect(await background()).not.toBe(light)
      await page.reload()
      await page.locator('main h1').waitFor()
      expect(await background()).not.toBe(light)
      await close()
      await s.server.close()
      await s.engine.close()
      await s.store.close()
    })
  })

  onBothStores('a server that goes and returns', (stage) => {
    it('the page keeps its data under a banner, and continues by itself', async () => {
      const first = await serveOn(await stage.url())
      await first.post('/ojs/v1/jobs', { type: 'mail.send', args: [], options: { queue: 'mail' } })
      const { page, go, close } = await openWindow(first)
      await go('/queues')
      await page.getByRole('region', { name: 'Queue mail' }).waitFor()
      const { port } = first.server
      await first.server.close({ graceMs: 0 })
      await first.engine.close()
      await first.store.close()
      await page.getByRole('alert').filter({ hasText: 'The server has not answered' }).waitFor({ timeout: 20_000 })
      expect(await page.getByRole('region', { name: 'Queue mail' }).isVisible()).toBe(true)

      const second = await serveOn(await stage.url(), { port })
      await second.post('/ojs/v1/jobs', { type: 'crm.sync', args: [], options: { queue: 'crm' } })
      await page.getByRole('cell', { name: 'crm' }).waitFor({ timeout: 20_000 })
      await page.getByRole('alert').waitFor({ state: 'detached' })
      await close()
      await second.server.close()
      await second.engine.close()
      await second.store.close()
    })
  })
})
