/** What clients have written is only ever text, however long it is, and nothing is wider than the window. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Serving, serveOn } from '../server/serving.ts'
import { inBrowser, openWindow, type Window } from './browser.ts'
import { addHostile, type Hostile } from './hostile.ts'

const WINDOWS = [
  { name: 'a desktop', viewport: { width: 1280, height: 800 } },
  { name: 'a phone', viewport: { width: 390, height: 844 } },
]

let s: Serving
let hostile: Hostile

beforeAll(async () => {
  s = await serveOn('sqlite::memory:')
  hostile = await addHostile(s)
}, 60_000)
afterAll(async () => {
  await s.server.close()
  await s.engine.close()
  await s.store.close()
})

/** Every page with the hostile texts; those marked show one in words. */
function pages(fingerprint: string): readonly (readonly [path: string, shows: boolean])[] {
  const { definition, instance, run, job, gate, operation, webhook, saga } = hostile
  const name = encodeURIComponent(definition)
  return [
    ['/', true],
    ['/errors', true],
    [`/errors/${fingerprint}`, true],
    ['/gates?view=all', true],
    [`/gates/${gate}`, true],
    ['/instances', true],
    [`/instances?q=${encodeURIComponent('tag:"<img src=x onerror=alert(1)>"')}`, false],
    [`/instances?q=${encodeURIComponent('<img src=x onerror=alert(1)>:')}`, false],
    [`/instances/${instance}`, true],
    [`/instances/${instance}?tab=timeline`, true],
    [`/instances/${instance}?tab=steps`, true],
    [`/instances/${instance}?tab=events`, true],
    [`/instances/${instance}?tab=data`, true],
    [`/instances/${instance}?tab=compare`, true],
    ['/runs', true],
    [`/runs/${run}`, true],
    [`/runs/${job}`, true],
    ['/operations', true],
    [`/operations/${operation}`, true],
    ['/definitions', true],
    [`/definitions/${name}`, true],
    [`/definitions/${name}?tab=source`, true],
    [`/definitions/${name}?tab=net`, true],
    ['/schedules', false],
    ['/queues', true],
    ['/workers', false],
    ['/inbox', true],
    ['/inbox?tab=types', false],
    ['/sagas', false],
    [`/sagas/${saga}`, true],
    ['/webhooks', false],
    [`/webhooks/${webhook}`, false],
    ['/keys', true],
  ]
}

/** What a page contains besides text. */
const FOREIGN = 'img, iframe, object, embed, main script, [onerror], [onload], [href^="javascript:" i], main style'

interface Watched extends Window {
  readonly dialogs: readonly string[]
  readonly elsewhere: readonly string[]
}

async function watched(viewport: { readonly width: number; readonly height: number }): Promise<Watched> {
  // A query with a mistake is answered with 400.
  const window = await openWindow(s, { viewport, allowed: /status of 400/ })
  const dialogs: string[] = []
  const elsewhere: string[] = []
  window.page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  window.page.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(`${s.server.url}/`) && !address.startsWith('blob:')) elsewhere.push(address)
  })
  return { ...window, dialogs, elsewhere }
}

/** What is wrong with the page that is shown, in words. */
async function faults(page: Window['page'], { shows }: { readonly shows: boolean }): Promise<readonly string[]> {
  if (shows) {
    await page
      .getByText('<img src=x onerror=')
      .first()
      .waitFor({ state: 'attached', timeout: 5_000 })
      .catch(() => {})
  } else {
    await page.waitForLoadState('load')
    await page.waitForTimeout(150)
  }
  const found = (await page.evaluate(`({
    foreign: document.querySelectorAll(${JSON.stringify(FOREIGN)}).length,
    width: document.documentElement.scrollWidth - innerWidth,
    widest: [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
      .slice(0, 8).map((one) => one.tagName.toLowerCase() + '.' + one.className).join(' > '),
    shown: document.body.textContent.includes('<img src=x onerror='),
  })`)) as { readonly foreign: number; readonly width: number; readonly widest: string; readonly shown: boolean }
  return [
    ...(found.foreign === 0 ? [] : [`${found.foreign} elements that no page makes`]),
    ...(found.width <= 0 ? [] : [`${found.width} px wider than the window: ${found.widest}`]),
    ...(shows && !found.shown ? ['the text is not shown'] : []),
  ]
}

inBrowser('hostile texts', () => {
  it.each(WINDOWS)(
    'are text on every page, and fit into the window of $name',
    async ({ viewport }) => {
      const fingerprint = (await s.get('/v1/error-groups')).body.groups[0].fingerprint
      const { page, go, errors, dialogs, elsewhere, close } = await watched(viewport)
      const found: string[] = []
      for (const [path, shows] of pages(fingerprint)) {
        await go(path)
        const place = path.length > 60 ? `${path.slice(0, 40)}…` : path
        // A phone shows fewer columns.
        const isWhole = viewport.width > 720
        found.push(...(await faults(page, { shows: shows && isWhole })).map((fault) => `${place}: ${fault}`))
      }
      expect([...found, ...errors(), ...dialogs, ...elsewhere]).toEqual([])
      await close()
    },
    90_000,
  )

  it.each(WINDOWS)(
    'are text in dialogs, in the list of actions and in the palette: $name',
    async ({ viewport }) => {
      const { page, go, errors, dialogs, elsewhere, close } = await watched(viewport)
      const found: string[] = []
      const { gate, waiting, instance } = hostile
      for (const [path, button] of [
        [`/gates/${gate}`, /^Approve/],
        [`/instances/${waiting}`, /^Cancel/],
        [`/definitions/${encodeURIComponent(hostile.definition)}`, /^Start/],
      ] as const) {
        await go(path)
        await page.getByRole('button', { name: button }).first().click()
        await page.getByRole('dialog').waitFor()
        found.push(...(await faults(page, { shows: true })).map((fault) => `${button}: ${fault}`))
        await page.keyboard.press('Escape')
      }
      for (const key of ['.', 'Control+k']) {
        await go(`/instances/${instance}`)
        await page.keyboard.press(key)
        await page.getByRole('dialog').waitFor()
        found.push(...(await faults(page, { shows: true })).map((fault) => `${key}: ${fault}`))
      }
      expect([...found, ...errors(), ...dialogs, ...elsewhere]).toEqual([])
      await close()
    },
    60_000,
  )

  it.each(WINDOWS)(
    'are text in a history file: $name',
    async ({ viewport }) => {
      const { page, go, errors, dialogs, elsewhere, close } = await watched(viewport)
      await go(`/instances/${hostile.instance}?tab=events`)
      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: /Download JSON/ }).click()
      const history = readFileSync(await (await downloading).path())
      await go('/history')
      const file = { name: '<img src=x onerror=alert(6)>.json', mimeType: 'application/json' }
      await page.locator('input[type=file]').setInputFiles({ ...file, buffer: history })
      expect(await faults(page, { shows: true })).toEqual([])
      await page
        .locator('input[type=file]')
        .setInputFiles({ ...file, buffer: Buffer.from('{"<img src=x onerror=1>":') })
      await page.getByRole('alert').first().waitFor()
      expect(await faults(page, { shows: false })).toEqual([])
      expect([...errors(), ...dialogs, ...elsewhere]).toEqual([])
      await close()
    },
    30_000,
  )
})
