/** What people do with the dashboard, from beginning to end, with the mouse; keyboard.test.ts has the same by keys. */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving, type Stage, serveOn } from '../server/serving.ts'
import { inBrowser, openWindow, type Window } from './browser.ts'
import { openShop, type Shop, WELCOME } from './content.ts'

/** Of a definition with a mistake: the browser itself notes it. */
const REFUSED = /status of 400/

inBrowser('what people do', () => {
  onBothStores('flows', (stage) => {
    let s: Serving
    let shop: Shop
    let window: Window
    beforeAll(async () => {
      s = await stage.serve()
      shop = await openShop(s)
      window = await openWindow(s, { allowed: REFUSED })
    }, 60_000)
    afterAll(async () => {
      await window.close()
      await shop.petrel.close({ graceMs: 0 })
    })
    afterEach(() => expect(window.errors()).toEqual([]))

    const button = (name: string | RegExp) => window.page.getByRole('button', { name })
    const dialog = (name: string | RegExp) => window.page.getByRole('dialog', { name })
    const said = (text: string | RegExp) => window.page.getByRole('status').getByText(text).first().waitFor()
    const title = (text: string | RegExp) => window.page.getByRole('heading', { level: 1, name: text }).waitFor()

    it('an instance is started from its definition and watched until it ends', async () => {
      const { page, go } = window
      shop.doorIsOpen = false
      await go('/definitions')
      await page.getByRole('row', { name: /shop-order/ }).click()
      await button(/^Start/).click()
      const form = dialog('Start shop-order 1.0')
      await form.getByLabel('amount').fill('0')
      await form.getByRole('button', { name: 'Start' }).click()
      await form.getByText('at least 1').first().waitFor()
      await form.getByLabel('amount').fill('12')
      await form.getByRole('button', { name: 'Start' }).click()
      await said('shop-order has been started.')
      await title(/shop-order.*running/)
      await page.getByRole('tab', { name: 'Steps' }).click()
      await page.getByRole('row', { name: /^ship.*running/ }).waitFor()
      shop.doorIsOpen = true
      await page.getByRole('row', { name: /^ship.*completed/ }).waitFor()
      await title(/shop-order.*completed/)
    })

    it('a gate is approved with its form, after the form has refused a wrong answer', async () => {
      const { page, go } = window
      const id = await shop.start('shop-leave')
      await shop.reach(id, 'waiting')
      await go('/gates')
      await page.getByRole('cell', { name: 'Grant this leave?' }).click()
      await button(/^Approve/).click()
      const form = dialog('Approve')
      await form.getByLabel('days').fill('1.5')
      await form.getByRole('button', { name: 'Approve' }).click()
      await form.getByText('days must be a whole number', { exact: true }).waitFor()
      await form.getByLabel('days').fill('3')
      await form.getByLabel('note').fill('enjoy it')
      await form.getByRole('button', { name: 'Approve' }).click()
      await said('The gate is approved.')
      await title(/Grant this leave.*approved/)
      await page.getByRole('region', { name: 'Answer' }).getByText('enjoy it').waitFor()
      await shop.reach(id, 'completed')
    })

    it('a retry from a step with another input runs that step and what follows, nothing before it', async () => {
      const { page, go } = window
      const id = await shop.start('shop-refund')
      await shop.reach(id, 'failed')
      const before = new Map(shop.calls)
      await go(`/instances/${id}?tab=steps&step=refund`)
      await button('Retry from a step …').click()
      const form = dialog('Retry from a step')
      await form.getByLabel('replaced').check()
      const args = form.getByLabel('Arguments', { exact: true })
      await expect.poll(() => args.inputValue()).toContain('500')
      await args.fill('{"amount": 20}')
      await form.getByRole('button', { name: 'Preview' }).click()
      await form.getByRole('row', { name: /refund.*runs again/ }).waitFor()
      await form.getByRole('row', { name: /look.*carried over/ }).waitFor()
      await form.getByRole('button', { name: 'Retry it' }).click()
      await said('This is the retry')
      await title(/shop-refund.*completed/)
      await page.getByRole('tab', { name: 'Steps' }).click()
      await page.getByRole('row', { name: /^report.*completed/ }).waitFor()
      const again = ['shop.look', 'shop.refund', 'shop.report'].map(
        (type) => (shop.calls.get(type) ?? 0) - (before.get(type) ?? 0),
      )
      expect(again).toEqual([0, 1, 1])
    })

    it('an error group is retried at a rate, stopped, resumed, and its count falls to 0', async () => {
      const { page, go } = window
      shop.bankIsDown = true
      const ids: string[] = []
      for (let order = 1; order <= 12; order++) ids.push(await shop.start('shop-charge', { order }))
      for (const id of ids) await shop.reach(id, 'failed')
      shop.bankIsDown = false
      await go('/errors')
      await page.getByRole('link', { name: /the bank did not answer/ }).click()
      const left = page.locator('.repair .figure')
      await left.filter({ hasText: /^12$/ }).waitFor()
      await button('Retry all …').click()
      const form = dialog('Retry all')
      await form.getByText('12 instances', { exact: true }).waitFor()
      await form.getByLabel(/Per minute/).fill('60')
      await form.getByLabel(/Reason/).fill('the bank is back')
      await form.getByRole('button', { name: 'Retry 12 instances' }).click()
      await said('Retry is ordered.')
      await button('Stop').click()
      await said(/The operation is stopped/)
      const stopped = Number(await left.textContent())
      expect(stopped).toBeGreaterThan(0)
      await page.getByRole('link', { name: 'Retry', exact: true }).click()
      await title(/Retry instances.*stopped/)
      await page.getByText('the bank is back').waitFor()
      await button('Change the rate …').click()
      await dialog('Change the rate')
        .getByLabel(/per minute/)
        .fill('')
      await dialog('Change the rate').getByRole('button', { name: 'Remove the limit' }).click()
      await said('There is no limit any more.')
      await button('Resume').click()
      await said('The operation continues.')
      await title(/Retry instances.*completed/)
      await page.getByText('12 of 12').waitFor()
      await page.goBack()
      await left.filter({ hasText: /^0$/ }).waitFor()
      expect(await button(/^Retry all/).getAttribute('aria-disabled')).toBe('true')
    })

    it('a queue is paused and resumed', async () => {
      const { page, go } = window
      await s.post('/ojs/v1/jobs', { type: 'crm.sync', args: [], options: { queue: 'crm' } })
      await go('/queues')
      await page.getByRole('row', { name: /crm/ }).click()
      const queue = page.getByRole('region', { name: 'Queue crm' })
      await queue.getByRole('button', { name: 'Pause' }).click()
      await said('Queue crm is paused')
      await queue.getByRole('heading', { name: /crm.*paused/ }).waitFor()
      expect((await s.get('/v1/queues/crm/stats')).body.paused).toBe(true)
      await queue.getByRole('button', { name: 'Resume' }).click()
      await said('Queue crm is resumed')
      expect((await s.get('/v1/queues/crm/stats')).body.paused).toBe(false)
    })

    it('an instance is paused with a reason, resumed, and cancelled after a confirmation', async () => {
      const { page, go } = window
      const id = await shop.start('shop-leave')
      await shop.reach(id, 'waiting')
      await go(`/instances/${id}`)
      await button(/^Pause/).click()
      await dialog('Pause this instance')
        .getByLabel(/Reason/)
        .fill('the calendar is being moved')
      await dialog('Pause this instance').getByRole('button', { name: 'Pause it' }).click()
      await said('It is paused')
      await page.getByRole('region', { name: 'What it waits for' }).getByText('the calendar is being moved').waitFor()
      await title(/shop-leave.*paused/)
      await button(/^Resume/).click()
      await said('It continues')
      await button(/^Cancel/).click()
      await dialog('Cancel this instance').getByText('Of 1 open runs').waitFor()
      await dialog('Cancel this instance').getByRole('button', { name: 'Close' }).last().click()
      expect((await s.get(`/v1/instances/${id}`)).body.instance.state).toBe('waiting')
      await button(/^Cancel/).click()
      await dialog('Cancel this instance').getByRole('button', { name: 'Cancel it' }).click()
      await said('It is cancelled')
      await title(/shop-leave.*cancelled/)
    })

    it('a schedule is run now', async () => {
      const { page, go } = window
      await go('/schedules')
      await page.getByRole('row', { name: /shop-nightly/ }).click()
      await page
        .getByRole('region', { name: /shop-nightly/ })
        .getByRole('button', { name: /^Run now/ })
        .click()
      await dialog(/Run .*shop-nightly.* now/)
        .getByRole('button', { name: 'Run now' })
        .click()
      await said(/Started instance/)
      const { instances } = (await s.get('/v1/instances?q=name:shop-nightly')).body
      expect(instances).toHaveLength(1)
    })

    it('a definition with a mistake is refused with its line, and deployed when it is right', async () => {
      const { page, go } = window
      const text = WELCOME.replace('timeout: 1m', 'timeout: 1m, dependsOn: [begin]')
      await go('/definitions')
      await button(/^Deploy/).click()
      const form = dialog('Deploy a definition')
      await form.getByLabel('Text', { exact: true }).fill(text)
      await form.getByRole('button', { name: 'Check' }).click()
      await form.getByText('2 mistakes', { exact: true }).waitFor()
      await form.locator('.source li:nth-child(7)').getByText("there is no step 'begin'").waitFor()
      await form.getByRole('button', { name: 'Deploy' }).click()
      await form.getByRole('alert').waitFor()
      await form.getByLabel('Text', { exact: true }).fill(WELCOME)
      await form.getByRole('button', { name: 'Check' }).click()
      await form.getByText(/^valid: shop-welcome 1.0/).waitFor()
      await form.getByRole('button', { name: 'Deploy' }).click()
      await said(/shop-welcome 1.0: created/)
      await title('shop-welcome')
      await page.getByText('A check finds nothing wrong.').waitFor()
    })

    it('a key is added, whose secret works once it is shown, and revoked', async () => {
      const { page, go } = window
      await go('/keys')
      await button(/^Add a key/).click()
      await dialog('Add a key').getByRole('button', { name: 'Add the key' }).click()
      await dialog('Add a key').getByText('The key needs a subject').waitFor()
      await dialog('Add a key').getByLabel('Subject').fill('ci')
      await dialog('Add a key').getByLabel('enqueue').check()
      await dialog('Add a key').getByRole('button', { name: 'Add the key' }).click()
      const secret = await dialog('The new key').locator('code').textContent()
      const as = { authorization: `Bearer ${secret}` }
      expect((await s.get('/v1/instances', as)).status).toBe(200)
      await dialog('The new key').getByRole('button', { name: 'I have stored it' }).click()
      await page.getByRole('row', { name: /ci.*read, enqueue/ }).click()
      await button(/^Revoke/).click()
      await dialog('Revoke a key').getByRole('button', { name: 'Revoke' }).click()
      await said('The key of ci is revoked.')
      await page.getByRole('row', { name: /ci.*read, enqueue/ }).waitFor({ state: 'detached' })
      await expect.poll(async () => (await s.get('/v1/instances', as)).status, { timeout: 10_000 }).toBe(401)
    })

    it('a dead letter is redriven from its page', async () => {
      const { page, go } = window
      shop.bankIsDown = true
      const retry = { max_attempts: 1, on_exhaustion: 'dead_letter' }
      const { body } = await s.post('/ojs/v1/jobs', { type: 'shop.mail.v1', args: [], options: { retry } })
      await go(`/runs/${body.job.id}`)
      await title(/shop.mail.v1.*failed/)
      await page.getByText('the mail server is away').first().waitFor()
      shop.bankIsDown = false
      await button(/^Redrive/).click()
      await dialog('Redrive this run').getByRole('button', { name: 'Redrive it' }).click()
      await said('It is pending again')
      await title(/shop.mail.v1.*succeeded/)
    })
  })

  onBothStores('a history', (stage) => {
    it('is downloaded as a file, which is opened while the server is stopped', async () => {
      const s = await serve(stage)
      const shop = await openShop(s)
      const id = await shop.start('shop-refund')
      await shop.reach(id, 'failed')
      const { page, go, close } = await openWindow(s, { acceptDownloads: true })
      await go(`/instances/${id}?tab=events`)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: /Download JSON/ }).click(),
      ])
      const file = await download.path()
      expect(JSON.parse(readFileSync(file, 'utf8'))).toBeTypeOf('object')
      await page.getByRole('link', { name: 'Open a history file' }).click()
      await page.getByRole('heading', { name: 'History file' }).waitFor()
      await shop.petrel.close({ graceMs: 0 })
      await s.server.close({ graceMs: 0 })
      await s.engine.close()
      await s.store.close()
      await page.getByLabel(/choose the file/).setInputFiles(file)
      await page.getByRole('heading', { name: /shop-refund.*failed/ }).waitFor()
      await page.getByRole('row', { name: /^refund.*failed/ }).waitFor()
      await page.getByRole('tab', { name: 'Events' }).click()
      await page
        .getByRole('row', { name: /refund/ })
        .first()
        .waitFor()
      await close()
    })
  })
})

async function serve(stage: Stage): Promise<Serving> {
  return serveOn(await stage.url())
}
