/** The playbooks of examples/playbooks, each with its required end, with real tools on both stores. */
import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DefinitionError } from '../../src/notations/source/mistakes.ts'
import { STORES } from '../dag/stores.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { EXAMPLES, Performance, readExample } from './performance.ts'
import { type Service, serve } from './service.ts'

/** 1 + 2 + … + 20: every row of every page once. */
const ALL_ROWS = 210

describe.each(STORES)('examples on $name', (place) => {
  let stage: Performance
  let service: Service
  beforeEach(async () => {
    stage = await Performance.open(place)
    service = await serve()
  })
  afterEach(async () => {
    await stage.close()
    await service.close()
  })

  it('weather.yaml: a parallel loop that retries 503, two branches by guard, a final step', async () => {
    const id = await stage.start(await readExample('weather.yaml'), { base_url: service.url })
    expect(await stage.ended(id)).toBe('completed: success')
    const results = await stage.results(id)
    expect(results['warn']).toEqual({ hot: ['Cairo', 'Lisbon'] })
    expect(results['fetch']).toEqual({
      results: [
        { city: 'Lisbon', max: 27 },
        { city: 'Oslo', max: 9 },
        { city: 'Cairo', max: 38 },
      ],
      stats: { total: 3, success: 3, failed: 0 },
    })
    const [report] = (await stage.engine.view(id))?.runs.filter(({ role }) => role === 'final') ?? []
    expect(JSON.parse(report?.result ?? 'null')).toBe('success: 3 cities, hot: Cairo, Lisbon')
    expect([...service.asked.values()]).toEqual([2, 2, 2])
  })

  it('release.yaml: two parallel tests meet, the release waits for approval, then ships once', async () => {
    const id = await stage.start(await readExample('release.yaml'))
    await expect.poll(async () => (await stage.store.read.instance(id))?.state, { timeout: 20_000 }).toBe('waiting')
    await stage.engine.patchContext({ instanceId: id, set: { approved: true }, actor: 'ada' })
    expect(await stage.ended(id)).toBe('completed: success')
    const shipped = (await stage.engine.view(id))?.runs.filter(({ node }) => node === 'ship') ?? []
    expect(shipped.map(({ result }) => JSON.parse(result ?? '{}').stdout)).toEqual(['shipped registry/app:4.2.0\n'])
    expect((await stage.engine.view(id))?.runs.filter(({ node }) => node === 'test')).toHaveLength(2)
  })

  it('pages-by-jump.yaml: every page once, the one that answered 502 twice', async () => {
    const id = await stage.start(await readExample('pages-by-jump.yaml'), { base_url: service.url })
    expect(await stage.ended(id)).toBe('completed: success')
    expect((await stage.results(id))['read_all']).toEqual({ rows: 20, total: ALL_ROWS })
    expect(service.asked.get('/rows?page=3')).toBe(2)
  })

  it('pages-by-cycle.yaml: the same with a cycle in the workflow', async () => {
    const id = await stage.start(await readExample('pages-by-cycle.yaml'), { base_url: service.url })
    expect(await stage.ended(id)).toBe('completed: success')
    expect((await stage.results(id))['done']).toEqual({ total: ALL_ROWS })
    expect(service.asked.size).toBe(5)
  })

  it('orders.yaml: a subplaybook for each order; a failed one is counted and stops no other', async () => {
    const id = await stage.start(await readExample('orders.yaml'))
    expect(await stage.ended(id)).toBe('completed: success')
    expect((await stage.results(id))['count']).toEqual({ total: 3, success: 2, failed: 1 })
    const children = (await stage.engine.view(id))?.children ?? []
    expect(children.map(({ state }) => state).sort()).toEqual(['completed', 'completed', 'failed'])
  })

  it.each([
    ['500', 'completed: success', ['call: server_error'], 2],
    ['404', 'failed: failed', ['call: not_found'], 1],
    ['200', 'completed: success', [], 1],
  ])('rescue.yaml: HTTP %s ends %s, and the final step has run', async (status, end, failures, asked) => {
    const id = await stage.start(await readExample('rescue.yaml'), { url: `${service.url}/status/${status}` })
    expect(await stage.ended(id)).toBe(end)
    const [final] = (await stage.engine.view(id))?.runs.filter(({ role }) => role === 'final') ?? []
    expect(JSON.parse(final?.result ?? 'null')).toEqual(failures)
    expect(service.asked.get(`/status/${status}`)).toBe(asked)
  })

  it('irregular.yaml: every irregular form is accepted with a warning, and refused when strict', async () => {
    const definition = await readExample('irregular.yaml')
    const id = await stage.start(definition)
    expect(await stage.ended(id)).toBe('completed: success')
    expect((await stage.results(id))['greet_all']).toMatchObject({ results: ['hello ada', 'hello bob'] })
    const warned = (definition.warnings ?? []).map(({ line, message }) => `${line}: ${message}`)
    expect(warned.length).toBeGreaterThanOrEqual(8)
    const strict = await readExample('irregular.yaml', { strict: true }).catch((error: unknown) => error)
    const refused = (strict as DefinitionError).problems.map(({ line, message }) => `${line}: ${message}`)
    for (const warning of warned) expect(refused).toContain(warning)
  })

  it.skipIf(postgresUrl() === null)(
    'ledger.yaml: a password from the keychain, and in no event, result or row',
    async () => {
      const ledger = await freshDatabase()
      const secret = new URL(ledger.url)
      secret.searchParams.set('application_name', 'secret-of-the-ledger')
      process.env['LEDGER_URL'] = secret.href
      try {
        const id = await stage.start(await readExample('ledger.yaml'))
        expect(await stage.ended(id)).toBe('completed: success')
        expect((await stage.results(id))['sum']).toMatchObject({ rows: [{ total: 14.5 }] })
        const view = await stage.engine.view(id)
        const recorded = await stage.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
        expect(JSON.stringify([view, recorded])).not.toContain('secret-of-the-ledger')
      } finally {
        delete process.env['LEDGER_URL']
        await ledger.drop()
      }
    },
  )
})

describe('the folder of examples', () => {
  it('every playbook in the directory has a test above and is valid', async () => {
    const files = readdirSync(EXAMPLES).filter((file) => file.endsWith('.yaml'))
    expect(files.sort()).toEqual(
      ['irregular', 'ledger', 'order', 'orders', 'pages-by-cycle', 'pages-by-jump', 'release', 'rescue', 'weather'].map(
        (name) => `${name}.yaml`,
      ),
    )
    for (const file of files) expect((await readExample(file)).dialect).toBe('playbook')
  })
})
