/** Much of everything: what is in the document stays small, and everything can be reached. Counted, not timed. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Serving, serveOn } from '../server/serving.ts'
import { inBrowser, openWindow, type Window } from './browser.ts'

const FULL = process.env['PETREL_TEST_FULL'] === '1'
const INSTANCES = 5_000
const NODES = FULL ? 10_000 : 1_000
const ITEMS = FULL ? 100_000 : 10_000
const QUEUES = 200
const MOST_ROWS = 60
const MOST_ELEMENTS = 2_500
/** 2^54: beyond the integers that are all exact. Those that a double would round are refused. */
const EXACT = '18014398509481984'

let s: Serving
beforeAll(async () => {
  s = await serveOn('sqlite::memory:')
})
afterAll(async () => {
  await s.server.close()
  await s.engine.close()
  await s.store.close()
})

const TO_THE_END = "document.querySelector('.rows-view').scrollTop = 1e9"

async function deploy(text: string): Promise<void> {
  const reply = await s.ask('POST', '/v1/definitions', { body: text, headers: { 'content-type': 'application/yaml' } })
  expect(reply.status, reply.text.slice(0, 500)).toBe(201)
}

async function start(workflow: string, input: unknown = null): Promise<string> {
  const reply = await s.post('/v1/instances', input === null ? { workflow } : { workflow, input })
  expect(reply.status, reply.text.slice(0, 500)).toBe(201)
  return reply.body.id
}

async function counted(page: Window['page']): Promise<{ readonly rows: number; readonly elements: number }> {
  return {
    rows: await page.locator('.rows-row').count(),
    elements: Number(await page.evaluate("document.getElementsByTagName('*').length")),
  }
}

/** Scrolls to the end until nothing more follows. */
async function scrollToEnd(page: Window['page'], total: number): Promise<void> {
  await expect
    .poll(
      async () => {
        await page.evaluate(TO_THE_END)
        return Number(await page.getByRole('table').first().getAttribute('aria-rowcount')) - 1
      },
      { timeout: 20_000, interval: 40 },
    )
    .toBe(total)
}

inBrowser('large data', () => {
  it(`${INSTANCES} instances: at most ${MOST_ROWS} rows in the document, at the beginning and at the end`, async () => {
    await deploy('kind: Net\nversion: 1\nname: many\nnodes: { wait: { gate: { title: Go on? } } }\n')
    const ids: string[] = []
    for (let at = 0; at < INSTANCES; at += 500) {
      ids.push(...(await Promise.all(Array.from({ length: 500 }, () => start('many')))))
    }
    const { page, go, errors, close } = await openWindow(s)
    await go('/instances')
    await page.locator('.rows-row').first().waitFor()
    expect((await counted(page)).rows).toBeLessThanOrEqual(MOST_ROWS)
    await scrollToEnd(page, INSTANCES)
    await page.locator(`a[href$="${ids[0]}"]`).waitFor()
    const { rows, elements } = await counted(page)
    expect(rows).toBeGreaterThan(5)
    expect(rows).toBeLessThanOrEqual(MOST_ROWS)
    expect(elements).toBeLessThan(MOST_ELEMENTS)
    expect(errors()).toEqual([])
    await close()
  }, 60_000)

  it(`an instance of ${NODES} nodes: a picture, and every step in the list`, async () => {
    const nodes = Array.from({ length: NODES }, (_, i) => {
      const next = i % 10 === 9 || i === NODES - 1 ? '' : `, next: n${i + 1}`
      return `  n${i}: { run: large.step${next} }`
    })
    await deploy(`kind: Net\nversion: 1\nname: large\nnodes:\n${nodes.join('\n')}\n`)
    const id = await start('large')
    const { page, go, errors, close } = await openWindow(s)
    await go(`/instances/${id}`)
    await page.locator('canvas').first().waitFor()
    expect((await counted(page)).elements).toBeLessThan(MOST_ELEMENTS)
    await go(`/instances/${id}?tab=steps`)
    await page.getByText(new RegExp(`(?:^| of )${NODES} steps`)).waitFor()
    const { rows, elements } = await counted(page)
    expect(rows).toBeLessThanOrEqual(MOST_ROWS)
    expect(elements).toBeLessThan(MOST_ELEMENTS)
    await page.getByPlaceholder(/Find a step/).fill(`n${NODES - 1}`)
    await page
      .locator('.rows-row')
      .filter({ hasText: `n${NODES - 1}` })
      .waitFor()
    expect(errors()).toEqual([])
    await close()
  }, 60_000)

  it(`a list of ${ITEMS} items: one node, and one line of the timeline`, async () => {
    await deploy(
      'kind: Net\nversion: 1\nname: group\nnodes:\n' +
        `  each: { each: { items: input, run: large.item, args: { item: '{{ item }}' }, maxInFlight: 4 } }\n`,
    )
    const id = await start(
      'group',
      Array.from({ length: ITEMS }, (_, i) => i),
    )
    const { page, go, errors, close } = await openWindow(s)
    await go(`/instances/${id}?step=each`)
    await page.locator('canvas').first().waitFor()
    expect((await counted(page)).elements).toBeLessThan(MOST_ELEMENTS)
    for (const tab of ['timeline', 'steps']) {
      await go(`/instances/${id}?tab=${tab}&step=each`)
      await page.getByText('each').first().waitFor()
      expect((await counted(page)).elements, tab).toBeLessThan(MOST_ELEMENTS)
    }
    expect(errors()).toEqual([])
    await close()
  }, 60_000)

  it(`${QUEUES} queues`, async () => {
    const runs = Array.from({ length: QUEUES }, (_, i) => ({ type: 'large.job', queue: `a-${i}`, payload: {} }))
    await s.engine.enqueue(runs as never)
    const { page, go, errors, close } = await openWindow(s)
    await go('/queues')
    await page.getByRole('cell', { name: 'a-0', exact: true }).waitFor()
    expect((await counted(page)).rows).toBeLessThanOrEqual(MOST_ROWS)
    await page.evaluate(TO_THE_END)
    await page.getByRole('cell', { name: 'a-99', exact: true }).waitFor()
    const { rows, elements } = await counted(page)
    expect(rows).toBeLessThanOrEqual(MOST_ROWS)
    expect(elements).toBeLessThan(MOST_ELEMENTS)
    await go('/')
    await page.getByText('What needs attention').waitFor()
    expect((await counted(page)).elements).toBeLessThan(MOST_ELEMENTS)
    expect(errors()).toEqual([])
    await close()
  }, 30_000)

  it('a payload of nearly 1 MB: the first 64 kB at once, the rest on request, integers digit by digit', async () => {
    const text = 'x'.repeat(1_000_000)
    await deploy('kind: Net\nversion: 1\nname: payload\nnodes: { wait: { gate: { title: Go on? } } }\n')
    const body = `{"workflow":"payload","input":{"exact":${EXACT},"text":"${text}"}}`
    const reply = await s.ask('POST', '/v1/instances', { body, headers: { 'content-type': 'application/json' } })
    expect(reply.status, reply.text.slice(0, 300)).toBe(201)
    const { page, go, errors, close } = await openWindow(s)
    await go(`/instances/${reply.body.id}?tab=data`)
    const shown = page.locator('pre').first()
    await shown.filter({ hasText: 'exact' }).waitFor()
    expect((await shown.textContent())?.length).toBeLessThan(70_000)
    expect(await shown.textContent()).toContain(EXACT)
    await page.getByRole('button', { name: 'Show all' }).first().click()
    await expect.poll(async () => (await shown.textContent())?.length).toBeGreaterThan(1_000_000)
    expect(errors()).toEqual([])
    await close()
  }, 30_000)
})
