/**
 * Every page and every dialog: with content of every kind, without any, and for a key that may only read. What they show
 * does not depend on the store, which flows.test.ts has both of; here all but the first test is on SQLite.
 */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeFile } from '../../src/files.ts'
import { makeKey } from '../../src/operations/keys/api-key.ts'
import { startServer } from '../../src/server/server.ts'
import { MISSING } from '../server/native/stage.ts'
import { onBothStores, type Serving, serveOn } from '../server/serving.ts'
import { expectAccessible, inBrowser, openWindow, type Window } from './browser.ts'
import { type Content, fill } from './content.ts'

const PATTERNS = [...readFileSync(codeFile('../dashboard/app/pages.ts'), 'utf8').matchAll(/ pattern: '([^']+)'/g)].map(
  ([, pattern]) => pattern as string,
)

interface Visit {
  readonly path: string
  /** Part of the content, which the page shows when it has been read. */
  readonly shows: string | RegExp
}

/** What a page shows of an empty store: a command that creates something, or what is missing. */
type Nothing = { readonly command: RegExp } | { readonly problem: true } | { readonly same: true }

interface Case {
  readonly visits: (content: Content) => readonly Visit[]
  readonly empty: Nothing
}

function list(path: string, shows: Visit['shows'], command: RegExp): Case {
  return { visits: () => [{ path, shows }], empty: { command } }
}

const CASES: Readonly<Record<string, Case>> = {
  '/': list('/', 'the card for order # was declined', /petrel run/),
  '/instances': list('/instances', 'demo-onboarding', /petrel start/),
  '/runs': {
    visits: () => [{ path: '/runs?q=type:demo.charge', shows: 'demo.charge' }],
    empty: { command: /petrel submit/ },
  },
  '/queues': list('/queues?queue=payments', 'payments', /petrel submit/),
  '/workers': list('/workers', 'heartbeat', /petrel worker/),
  '/schedules': list('/schedules', 'demo-digest', /petrel schedules add/),
  '/operations': list('/operations', 'Redrive runs', /petrel bulk/),
  '/errors': list('/errors', 'the card for order # was declined', /petrel errors/),
  '/gates': list('/gates', 'Pay this expense?', /petrel start/),
  '/definitions': list('/definitions', 'demo-article', /petrel deploy/),
  '/webhooks': list('/webhooks', 'https://example.com/hooks', /curl/),
  '/keys': list('/keys', 'auditor', /petrel keys add/),
  '/history': { visits: () => [{ path: '/history', shows: 'choose the file' }], empty: { same: true } },
  '/inbox': {
    visits: () => [
      { path: '/inbox', shows: 'demo.translate.v1' },
      { path: '/inbox?tab=types', shows: 'Translates' },
    ],
    empty: { command: /petrel submit/ },
  },
  '/sagas': {
    visits: () => [
      { path: '/sagas', shows: 'demo-party' },
      { path: '/sagas?tab=refused', shows: /No message/ },
    ],
    empty: { command: /petrel start/ },
  },
  '/instances/:id': {
    visits: ({ instance: id, waiting }) => [
      { path: `/instances/${waiting}`, shows: 'approve' },
      { path: `/instances/${id}?step=analytics`, shows: 'analytics' },
      { path: `/instances/${id}?tab=timeline`, shows: 'account' },
      { path: `/instances/${id}?tab=steps&step=account`, shows: 'demo.account' },
      { path: `/instances/${id}?tab=events`, shows: 'Open a history file' },
      { path: `/instances/${id}?tab=data`, shows: 'ACME' },
      { path: `/instances/${id}?tab=compare`, shows: /./ },
    ],
    empty: { problem: true },
  },
  '/runs/:id': {
    visits: ({ run }) => [
      { path: `/runs/${run}`, shows: 'charging' },
      { path: `/runs/${run}?tab=data`, shows: '"order"' },
      { path: `/runs/${run}?tab=events`, shows: /failed|discarded/ },
    ],
    empty: { problem: true },
  },
  '/operations/:id': one(({ operation }) => `/operations/${operation}`, 'the ledger is free'),
  '/errors/:fingerprint': one(({ group }) => `/errors/${group}`, 'To be repaired'),
  '/gates/:id': one(({ gate }) => `/gates/${gate}`, 'Pay this expense?'),
  '/definitions/:name': {
    visits: () => [
      { path: '/definitions/demo-article', shows: 'until the printer is repaired' },
      { path: '/definitions/demo-article?tab=source', shows: 'A check finds nothing wrong.' },
      { path: '/definitions/demo-article?tab=net', shows: 'demo.render' },
      { path: '/definitions/demo-expense?tab=compare', shows: /./ },
    ],
    empty: { problem: true },
  },
  '/sagas/:id': one(({ saga }) => `/sagas/${saga}`, 'refdata.v1.parties.save'),
  '/webhooks/:id': one(({ webhook }) => `/webhooks/${webhook}`, 'https://example.com/hooks'),
}

function one(path: (content: Content) => string, shows: Visit['shows']): Case {
  return { visits: (content) => [{ path: path(content), shows }], empty: { problem: true } }
}

/** Waits until the page has read what it shows. */
async function shown({ page, go }: Window, { path, shows }: Visit): Promise<void> {
  await go(path)
  await page.locator('main').getByText(shows).first().waitFor()
  await page.locator('main').getByText('Loading …').first().waitFor({ state: 'detached' })
}

async function expectNarrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 800 })
  const wide = await page.evaluate(
    `[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 391
      && document.documentElement.scrollWidth > 390).map((e) => e.outerHTML.slice(0, 120)).slice(-3)`,
  )
  expect.soft(wide, `${page.url()} is wider than the window`).toEqual([])
  await page.setViewportSize({ width: 1280, height: 800 })
}

async function inBothColours(page: Page, look: () => Promise<void>): Promise<void> {
  await look()
  await page.emulateMedia({ colorScheme: 'dark' })
  await look()
  await page.emulateMedia({ colorScheme: 'light' })
}

async function addKey({ store }: Serving): Promise<string> {
  const { id, hash, text } = makeKey()
  const times = { createdAt: Date.now(), expiresAt: null, revokedAt: null }
  await store.keys.add({ id, hash, subject: 'auditor', scopes: ['read'], roles: [], tenant: null, ...times })
  return text
}

function leadsTo(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replace(/:\w+/, '[^/]+')}$`).test(path === '' ? '/' : path)
}

inBrowser('every page', () => {
  it('has a case here', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(PATTERNS.toSorted())
  })

  onBothStores('opens with content', (stage) => {
    it('without an error, and all its links lead to pages', async () => {
      const s = await stage.serve()
      await addKey(s)
      const content = await fill(s)
      const window = await openWindow(s)
      const links = new Set<string>()
      for (const visit of Object.values(CASES).flatMap(({ visits }) => visits(content))) {
        await shown(window, visit)
        const found = await window.page
          .locator('a[href^="/ui"]')
          .evaluateAll((all: any[]) => all.map((a) => a.pathname))
        for (const path of found) links.add(path.slice('/ui'.length))
        expect(window.errors(), visit.path).toEqual([])
      }
      expect(links.size).toBeGreaterThan(30)
      expect([...links].filter((path) => !PATTERNS.some((pattern) => leadsTo(pattern, path)))).toEqual([])
      await window.close()
      await content.close()
    }, 120_000)
  })

  describe('with content', () => {
    let s: Serving
    let content: Content
    let visits: readonly Visit[]
    beforeAll(async () => {
      s = await serveOn('sqlite::memory:')
      await addKey(s)
      content = await fill(s)
      visits = Object.values(CASES).flatMap((one) => one.visits(content))
    }, 60_000)
    afterAll(async () => {
      await content.close()
      await s.server.close()
      await s.engine.close()
      await s.store.close()
    })

    it('is accessible in light and dark, and fits a phone', async () => {
      const window = await openWindow(s, { bypassCSP: true })
      const { page } = window
      for (const visit of visits) {
        await shown(window, visit)
        await inBothColours(page, () => expectAccessible(page, visit.path))
        await expectNarrow(page)
      }
      expect(window.errors()).toEqual([])
      await window.close()
    }, 180_000)

    it('has dialogs that are accessible, fit a phone, and give the focus back', async () => {
      const window = await openWindow(s, { bypassCSP: true })
      const { page } = window
      const opened: string[] = []
      for (const visit of visits.filter(({ path }) => !path.includes('tab='))) {
        await shown(window, visit)
        // Some actions are those of the selected row.
        await page.keyboard.press('j')
        const asking = page.locator('main button[aria-disabled=false]').filter({ hasText: /…$/ })
        for (const button of await asking.all()) {
          const name = `${visit.path}: ${await button.textContent()}`
          await button.press('Enter')
          await page.getByRole('dialog').waitFor()
          await page.getByRole('dialog').getByText('Loading …').first().waitFor({ state: 'detached' })
          await inBothColours(page, () => expectAccessible(page, name))
          await expectNarrow(page)
          await page.keyboard.press('Escape')
          await page.getByRole('dialog').waitFor({ state: 'detached' })
          expect(await button.evaluate((e: any) => e === e.ownerDocument.activeElement), name).toBe(true)
          opened.push(name)
        }
      }
      expect(opened.length, opened.join('\n')).toBeGreaterThan(30)
      expect(window.errors()).toEqual([])
      await window.close()
    }, 180_000)

    it('disables every action for a key that may only read, and says why', async () => {
      const secured = await startServer({ engine: s.engine, version: '1.2.3', port: 0, auth: 'required' })
      const window = await openWindow({ server: secured }, { allowed: /status of (?:401|403)/ })
      const { page } = window
      await window.go('/')
      await page.getByLabel('API key').fill(await addKey(s))
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      let disabled = 0
      for (const { path } of visits) {
        await window.go(path)
        await page.locator('main').getByText('Loading …').first().waitFor({ state: 'detached' })
        for (const text of await page.locator('main button[aria-disabled]').allTextContents()) {
          expect(text, path).toMatch(/\(needs the scope (?:admin|enqueue); your key has read\)/)
          disabled++
        }
      }
      expect(disabled).toBeGreaterThan(40)
      expect(window.errors()).toEqual([])
      await window.close()
      await secured.close()
    }, 120_000)
  })

  it('says what would be here when the store is empty', async () => {
    const s = await serveOn('sqlite::memory:')
    const window = await openWindow(s, { allowed: /status of 404/, bypassCSP: true })
    const { page } = window
    for (const [pattern, { empty, visits }] of Object.entries(CASES)) {
      const path = pattern.replace(/:\w+/, 'problem' in empty ? MISSING : '')
      await window.go(path)
      const main = page.locator('main')
      if ('command' in empty) await main.locator('code').filter({ hasText: empty.command }).first().waitFor()
      else if ('problem' in empty) await main.getByRole('alert').first().waitFor()
      else await main.getByText((visits({} as Content)[0] as Visit).shows).waitFor()
      await expectAccessible(page, path)
      await expectNarrow(page)
    }
    expect(window.errors()).toEqual([])
    await window.close()
    await s.server.close()
    await s.engine.close()
    await s.store.close()
  }, 120_000)
})
