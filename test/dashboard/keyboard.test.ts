/**
 * The flows of flows.test.ts by the keyboard alone: this file presses keys and reads, and has no mouse. What keys do does
 * not depend on the store, so it is SQLite only.
 */
import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type Serving, serveOn } from '../server/serving.ts'
import { inBrowser, openWindow, type Window } from './browser.ts'
import { openShop, type Shop, WELCOME } from './content.ts'

/** More than there are controls on a page. */
const MOST_TABS = 200

class Keyboard {
  readonly page: Page
  constructor(page: Page) {
    this.page = page
  }

  /** Presses keys, one after the other. */
  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key)
  }

  type(text: string): Promise<void> {
    return this.page.keyboard.insertText(text)
  }

  hasFocus(target: Locator): Promise<boolean> {
    return target.evaluate((element: any) => element === element.ownerDocument.activeElement)
  }

  /** Tab, until the focus is there. */
  async tabTo(target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await target.waitFor()
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      if (await this.hasFocus(target)) return
      await this.press(key)
    }
    throw new Error(`${key} does not lead to ${target}`)
  }

  async activate(target: Locator, key: 'Enter' | 'Space' = 'Enter'): Promise<void> {
    await this.tabTo(target)
    await this.press(key)
  }

  /** Replaces what a field contains. */
  async fill(field: Locator, text: string): Promise<void> {
    await this.tabTo(field)
    await this.press('Control+a', 'Delete')
    await this.type(text)
  }

  /** j, until the row is selected. */
  async select(row: Locator): Promise<void> {
    await row.waitFor()
    for (let presses = 0; presses < MOST_TABS; presses++) {
      if (/\bselected\b/.test((await row.getAttribute('class')) ?? '')) return
      await this.press('j')
    }
    throw new Error(`j does not lead to ${row}`)
  }
}

inBrowser('by the keyboard alone', () => {
  let s: Serving
  let shop: Shop
  let window: Window
  let keys: Keyboard
  beforeAll(async () => {
    s = await serveOn('sqlite::memory:')
    shop = await openShop(s)
    window = await openWindow(s, { allowed: /status of 400/, acceptDownloads: true })
    keys = new Keyboard(window.page)
    await window.go('/')
  }, 60_000)
  afterAll(async () => {
    await window.close()
    await shop.petrel.close({ graceMs: 0 })
    await s.server.close()
    await s.engine.close()
    await s.store.close()
  })
  afterEach(() => expect(window.errors()).toEqual([]))

  const dialog = (name: string | RegExp) => window.page.getByRole('dialog', { name })
  const row = (name: string | RegExp) => window.page.getByRole('row', { name })
  const said = (text: string | RegExp) => window.page.getByRole('status').getByText(text).first().waitFor()
  const title = (text: string | RegExp) => window.page.getByRole('heading', { level: 1, name: text }).waitFor()
  const closed = () => window.page.getByRole('dialog').waitFor({ state: 'detached' })
  /** Finds an action, a page or an instance in the palette, and chooses it. */
  const find = async (text: string, option: string | RegExp): Promise<void> => {
    await keys.press('Control+k')
    await dialog('Find').waitFor()
    await keys.type(text)
    const wanted = dialog('Find').getByRole('option', { name: option }).first()
    await wanted.waitFor()
    for (let i = 0; i < 12 && (await wanted.getAttribute('aria-selected')) !== 'true'; i++)
      await keys.press('ArrowDown')
    await keys.press('Enter')
    await dialog('Find').waitFor({ state: 'detached' })
  }
  const tab = async (name: string): Promise<void> => {
    await keys.tabTo(window.page.getByRole('tab', { selected: true }))
    const wanted = window.page.getByRole('tab', { name })
    await wanted.waitFor()
    for (let i = 0; i < 8 && (await wanted.getAttribute('aria-selected')) !== 'true'; i++)
      await keys.press('ArrowRight')
    expect(await keys.hasFocus(wanted)).toBe(true)
  }

  it('every page of the navigation has its two letters', async () => {
    const letters: Readonly<Record<string, string | RegExp>> = {
      o: 'Overview',
      e: 'Errors',
      a: 'Gates',
      i: 'Instances',
      b: 'Bulk operations',
      d: 'Definitions',
      s: 'Schedules',
      q: 'Queues and limits',
      w: 'Workers',
      n: 'Inbox',
      g: 'Sagas',
      h: 'Webhooks',
      k: 'Keys and audit',
    }
    await keys.press('?')
    expect(
      await dialog('Keys')
        .getByText(/^go to /)
        .count(),
    ).toBe(Object.keys(letters).length)
    await keys.press('Escape')
    await closed()
    for (const [letter, name] of Object.entries(letters)) {
      await keys.press('g', letter)
      await title(name)
    }
  })

  it('an instance is started, found by the search, and watched', async () => {
    const { page } = window
    shop.doorIsOpen = false
    await keys.press('g', 'd')
    await keys.select(row(/shop-order/))
    await keys.press('Enter')
    await title('shop-order')
    await keys.press('s')
    const form = dialog(/Start shop-order/)
    await keys.fill(form.getByLabel('amount'), '12')
    await keys.press('Enter')
    await said('shop-order has been started.')
    await title(/shop-order.*running/)
    await keys.press('g', 'i')
    await title('Instances')
    await keys.press('/')
    expect(await keys.hasFocus(page.getByRole('combobox', { name: 'Search instances' }))).toBe(true)
    await keys.type('name:shop-order state:running')
    await keys.press('Enter')
    await row(/shop-order/).waitFor()
    await keys.press('Escape', 'Tab')
    await keys.tabTo(page.getByRole('checkbox', { name: 'Picture' }))
    await keys.select(row(/shop-order/))
    await keys.press('Enter')
    await title(/shop-order.*running/)
    await tab('Steps')
    shop.doorIsOpen = true
    await row(/^ship.*completed/).waitFor()
    await title(/shop-order.*completed/)
  })

  it('a gate is approved with its form', async () => {
    const id = await shop.start('shop-leave')
    await shop.reach(id, 'waiting')
    await keys.press('g', 'a')
    await keys.select(row(/Grant this leave/))
    await keys.press('a')
    const form = dialog('Approve')
    await keys.fill(form.getByLabel('days'), '3')
    await keys.fill(form.getByLabel(/Reason/), 'well earned')
    await keys.activate(form.getByRole('button', { name: 'Approve' }))
    await said('The gate is approved.')
    await closed()
    await shop.reach(id, 'completed')
  })

  it('an instance is retried from a step with another input', async () => {
    const { page } = window
    const id = await shop.start('shop-refund')
    await shop.reach(id, 'failed')
    await find(id, new RegExp(`${id}.*instance`))
    await title(/shop-refund.*failed/)
    await tab('Steps')
    await keys.select(row(/^refund/))
    const button = page.getByRole('button', { name: 'Retry from a step …' })
    await keys.tabTo(button, 'Shift+Tab')
    await keys.press('Enter')
    const form = dialog('Retry from a step')
    await form.waitFor()
    await keys.press('Escape')
    await closed()
    expect(await keys.hasFocus(button)).toBe(true)
    await keys.press('Enter')
    await keys.tabTo(form.getByLabel('as they were'))
    await keys.press('ArrowRight', 'ArrowRight')
    const args = form.getByLabel('Arguments', { exact: true })
    await expect.poll(() => args.inputValue()).toContain('500')
    await keys.fill(args, '{"amount": 20}')
    await keys.activate(form.getByRole('button', { name: 'Preview' }))
    await form.getByRole('row', { name: /refund.*runs again/ }).waitFor()
    await keys.activate(form.getByRole('button', { name: 'Retry it' }))
    await said('This is the retry')
    await title(/shop-refund.*completed/)
  })

  it('an error group is retried at a rate, stopped and resumed', async () => {
    const { page } = window
    shop.bankIsDown = true
    const ids: string[] = []
    for (let order = 1; order <= 8; order++) ids.push(await shop.start('shop-charge', { order }))
    for (const id of ids) await shop.reach(id, 'failed')
    shop.bankIsDown = false
    await keys.press('g', 'e')
    await keys.select(row(/the bank did not answer/))
    await keys.press('Enter')
    const left = page.locator('.repair .figure')
    await left.filter({ hasText: /^8$/ }).waitFor()
    await keys.press('a')
    const form = dialog('Retry all')
    await form.getByText('8 instances', { exact: true }).waitFor()
    expect(await keys.hasFocus(form.getByLabel(/Per minute/))).toBe(true)
    await keys.fill(form.getByLabel(/Per minute/), '60')
    await keys.press('Enter')
    await said('Retry is ordered.')
    await closed()
    await keys.activate(page.getByRole('button', { name: 'Stop' }))
    await said(/The operation is stopped/)
    await keys.press('g', 'b')
    await keys.select(row(/stopped.*Retry instances/))
    await keys.press('Enter')
    await title(/Retry instances.*stopped/)
    await find('rate', /Change the rate/)
    await keys.fill(dialog('Change the rate').getByLabel(/per minute/), '')
    await keys.press('Enter')
    await said('There is no limit any more.')
    await closed()
    await keys.press('.')
    await keys.activate(dialog('Actions').getByRole('button', { name: 'Resume' }))
    await said('The operation continues.')
    await title(/Retry instances.*completed/)
    await page.getByText('8 of 8').waitFor()
  })

  it('a queue is paused and resumed', async () => {
    await s.post('/ojs/v1/jobs', { type: 'crm.sync', args: [], options: { queue: 'crm' } })
    await keys.press('g', 'q')
    await keys.select(row(/crm/))
    await window.page.getByRole('region', { name: 'Queue crm' }).waitFor()
    await keys.press('p')
    await said('Queue crm is paused')
    await window.page.getByRole('heading', { name: /crm.*paused/ }).waitFor()
    await keys.press('p')
    await said('Queue crm is resumed')
  })

  it('an instance is paused, resumed, and cancelled after a confirmation', async () => {
    const id = await shop.start('shop-leave')
    await shop.reach(id, 'waiting')
    await find(id, new RegExp(`${id}.*instance`))
    await title(/shop-leave/)
    await keys.press('p')
    await keys.fill(dialog('Pause this instance').getByLabel(/Reason/), 'moving')
    await keys.press('Enter')
    await said('It is paused')
    await title(/shop-leave.*paused/)
    await keys.press('p')
    await said('It continues')
    await find('cancel', /Cancel …/)
    await dialog('Cancel this instance').waitFor()
    await keys.press('Escape')
    await closed()
    expect((await s.get(`/v1/instances/${id}`)).body.instance.state).toBe('waiting')
    await find('cancel', /Cancel …/)
    await keys.activate(dialog('Cancel this instance').getByRole('button', { name: 'Cancel it' }))
    await said('It is cancelled')
    await title(/shop-leave.*cancelled/)
  })

  it('a schedule is run now', async () => {
    await keys.press('g', 's')
    await keys.select(row(/shop-nightly/))
    await keys.press('r')
    await keys.activate(dialog(/shop-nightly.* now/).getByRole('button', { name: 'Run now' }))
    await said(/Started instance/)
  })

  it('a definition is deployed after its mistakes have been shown', async () => {
    await keys.press('g', 'd')
    await title('Definitions')
    await keys.press('n')
    const form = dialog('Deploy a definition')
    const text = form.getByLabel('Text', { exact: true })
    await keys.fill(text, WELCOME.replace('timeout: 1m', 'timeout: 1m, dependsOn: [begin]'))
    await keys.activate(form.getByRole('button', { name: 'Deploy' }))
    await form.getByText("there is no step 'begin'").first().waitFor()
    await keys.fill(text, WELCOME)
    await keys.activate(form.getByRole('button', { name: 'Check' }))
    await form.getByText(/^valid: shop-welcome 1.0/).waitFor()
    await keys.activate(form.getByRole('button', { name: 'Deploy' }))
    await said(/shop-welcome 1.0: created/)
    await title('shop-welcome')
  })

  it('a key is added and revoked', async () => {
    await keys.press('g', 'k')
    await title('Keys and audit')
    await keys.press('n')
    await keys.fill(dialog('Add a key').getByLabel('Subject'), 'ci')
    await keys.activate(dialog('Add a key').getByLabel('enqueue'), 'Space')
    await keys.activate(dialog('Add a key').getByRole('button', { name: 'Add the key' }))
    await keys.activate(dialog('The new key').getByRole('button', { name: 'I have stored it' }))
    await closed()
    await keys.select(row(/ci.*read, enqueue/))
    await keys.press('x')
    await keys.activate(dialog('Revoke a key').getByRole('button', { name: 'Revoke' }))
    await said('The key of ci is revoked.')
  })

  it('a dead letter is found and redriven', async () => {
    shop.bankIsDown = true
    const retry = { max_attempts: 1, on_exhaustion: 'dead_letter' }
    const { body } = await s.post('/ojs/v1/jobs', { type: 'shop.mail.v1', args: [], options: { retry } })
    await keys.press('g', 'e')
    await title('Errors')
    await keys.activate(window.page.getByRole('link', { name: /dead letters/ }))
    await title('Runs')
    await keys.select(row(/shop.mail.v1/))
    await keys.press('Enter')
    await title(/shop.mail.v1.*failed/)
    shop.bankIsDown = false
    await keys.press('r')
    await keys.activate(dialog('Redrive this run').getByRole('button', { name: 'Redrive it' }))
    await said('It is pending again')
    await title(/shop.mail.v1.*succeeded/)
    expect((await s.get(`/v1/runs/${body.job.id}`)).body.run.status).toBe('succeeded')
  })

  it('a history is downloaded and opened', async () => {
    const { page } = window
    const id = await shop.start('shop-refund')
    await shop.reach(id, 'failed')
    await find(id, new RegExp(`${id}.*instance`))
    await tab('Events')
    await keys.tabTo(page.getByRole('button', { name: /Download JSON/ }))
    const [download] = await Promise.all([page.waitForEvent('download'), keys.press('Enter')])
    const file = await download.path()
    expect(JSON.parse(readFileSync(file, 'utf8'))).toBeTypeOf('object')
    await keys.activate(page.getByRole('link', { name: 'Open a history file' }))
    await keys.tabTo(page.getByLabel(/choose the file/))
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), keys.press('Space')])
    await chooser.setFiles(file)
    await page.getByRole('heading', { name: /shop-refund.*failed/ }).waitFor()
    await tab('Events')
    await row(/refund/)
      .first()
      .waitFor()
  })
})
