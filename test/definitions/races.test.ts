import { expect, it } from 'vitest'
import { dag, deploy, instances, onBothStores, publish, start } from './stage.ts'

const ROUNDS = 8
const LISTENS = '{ event: order.created }'

/** A value, or the code of the refusal. */
async function end<T>(promise: Promise<T>): Promise<T | string> {
  return promise.catch((error: unknown) => (error as { readonly code: string }).code)
}

onBothStores('two processes at once', (stage) => {
  it('deploy the same version with different texts: one creates it, the other replaces it, one text remains', async () => {
    const [a, b] = await Promise.all([stage.open(), stage.open()])
    for (let round = 0; round < ROUNDS; round++) {
      const name = `flow-${round}`
      const both = await Promise.all([
        deploy(a, dag({ name, version: '1', steps: 'a' })),
        deploy(b, dag({ name, version: '1', steps: 'b' })),
      ])
      expect(both.map((d) => d.what).sort()).toEqual(['created', 'replaced'])
      const last = both.find((d) => d.what === 'replaced')
      const rows = await a.catalog.list({ tenant: null, name, dialect: null, limit: 10, before: null })
      expect(rows.map((r) => [r.id, r.version, r.sourceHash])).toEqual([[last?.row.id, '1', last?.row.sourceHash]])
    }
  })

  it('deploy texts without versions: each text gets a number, and the same text only one', async () => {
    const processes = await Promise.all([stage.open(), stage.open()])
    const [a, b] = processes
    for (let round = 0; round < ROUNDS; round++) {
      const name = `flow-${round}`
      const apart = await Promise.all([deploy(a, dag({ name, steps: 'a' })), deploy(b, dag({ name, steps: 'b' }))])
      expect(apart.map((d) => d.row.version).sort()).toEqual(['1', '2'])
      const same = await Promise.all(processes.map((p) => deploy(p, dag({ name, steps: 'c' }))))
      expect(same.map((d) => [d.what, d.row.version]).sort()).toEqual([
        ['created', '3'],
        ['unchanged', '3'],
      ])
    }
  })

  it('a replacing deploy and a first start: the instance runs the text that its version has from then on', async () => {
    const [a, b] = await Promise.all([stage.open(), stage.open()])
    for (let round = 0; round < 3 * ROUNDS; round++) {
      const name = `flow-${round}`
      await deploy(a, dag({ name, version: '1', steps: 'a' }))
      const [started, deployed] = await Promise.all([
        start(a, name),
        end(deploy(b, dag({ name, version: '1', steps: 'b' }))),
      ])
      const row = await b.catalog.get({ tenant: null, name, version: '1' })
      const instance = await b.store.read.instance(started.id)
      expect(instance?.netHash).toBe(row?.netHash)
      expect(started.definition.source).toBe(row?.source)
      expect(row?.usedAt).not.toBeNull()
      const what = typeof deployed === 'string' ? deployed : deployed.what
      expect(what).toBe(row?.source === dag({ name, version: '1', steps: 'b' }) ? 'replaced' : 'conflict')
    }
  })

  it('a start that looked before the text was replaced starts the new text', async () => {
    const [a, b] = await Promise.all([stage.open(), stage.open()])
    await deploy(a, dag({ version: '1', steps: 'a' }))
    const { definitions } = a.store
    const find = definitions.find
    let looked = 0
    const slow: typeof find = async (params) => {
      const head = await find(params)
      if (++looked === 1) await deploy(b, dag({ version: '1', steps: 'b' }))
      return head
    }
    Object.assign(definitions, { find: slow })
    const { id, definition } = await start(a, 'onboarding')
    expect(looked).toBe(2)
    expect(definition.source).toBe(dag({ version: '1', steps: 'b' }))
    expect((await a.store.read.instance(id))?.netHash).toBe(definition.netHash)
    expect(await end(deploy(b, dag({ version: '1', steps: 'c' })))).toBe('conflict')
  })

  it('a start whose text is replaced before it marks the version as used starts the new text', async () => {
    const [a, b] = await Promise.all([stage.open(), stage.open()])
    await deploy(a, dag({ version: '1', steps: 'a' }))
    const { definitions } = a.store
    const use = definitions.use
    const marks: (number | null)[] = []
    const late: typeof use = async (params) => {
      if (marks.length === 0) await deploy(b, dag({ version: '1', steps: 'b' }))
      const usedAt = await use(params)
      marks.push(usedAt)
      return usedAt
    }
    Object.assign(definitions, { use: late })
    const { id, definition } = await start(a, 'onboarding')
    expect(marks).toEqual([null, definition.usedAt])
    expect(definition.source).toBe(dag({ version: '1', steps: 'b' }))
    expect((await a.store.read.instance(id))?.netHash).toBe(definition.netHash)
  })

  it('deploy versions with different schedules: the schedule is that of the latest', async () => {
    const [a, b] = await Promise.all([stage.open(), stage.open()])
    for (let round = 0; round < ROUNDS; round++) {
      const name = `flow-${round}`
      await deploy(a, dag({ name, version: '1', trigger: "{ schedule: '0 1 * * *' }" }))
      await Promise.all([
        deploy(a, dag({ name, version: '1', trigger: "{ schedule: '0 2 * * *' }" })),
        deploy(b, dag({ name, version: '2', trigger: "{ schedule: '0 3 * * *' }" })),
      ])
      expect((await a.store.read.schedule(`workflow:${name}`))?.expression).toBe('0 3 * * *')
    }
  })

  it('receive the same event: it starts one instance', async () => {
    const processes = await Promise.all([stage.open(), stage.open(), stage.open()])
    const [first] = processes
    await deploy(first, dag({ name: 'ship', trigger: LISTENS }))
    await deploy(first, dag({ name: 'bill', trigger: LISTENS }))
    for (let round = 0; round < ROUNDS; round++) {
      const heard = await Promise.all(processes.map((p) => publish(p, 'order.created', { id: `e${round}` })))
      for (const name of ['bill', 'ship']) {
        const started = heard.flatMap((h) => h.started.filter((s) => s.name === name))
        expect(started.map((s) => s.created).sort()).toEqual([false, false, true])
        expect(new Set(started.map((s) => s.instanceId)).size).toBe(1)
        expect(await instances(first, name)).toHaveLength(round + 1)
      }
    }
  })

  it('receive the same event while instances are idle: those start, once, and no others', async () => {
    const processes = await Promise.all([stage.open(), stage.open(), stage.open()])
    const [first] = processes
    await deploy(first, dag({ name: 'ship', trigger: LISTENS }))
    for (let round = 0; round < ROUNDS; round++) {
      const idle = await Promise.all([1, 2].map(() => start(first, 'ship', { start: false })))
      const heard = await Promise.all(processes.map((p) => publish(p, 'order.created', { id: `e${round}` })))
      const started = heard.flatMap((h) => h.started.filter((s) => s.created).map((s) => s.instanceId))
      expect(started.sort()).toEqual(idle.map((i) => i.id).sort())
      const all = await instances(first, 'ship')
      expect(all).toHaveLength(2 * (round + 1))
      expect(all.every((i) => i.state === 'running')).toBe(true)
    }
  })

  it('retire while others start: every started version was in service, and none starts after the retirement', async () => {
    const [a, b] = await Promise.all([stage.open(), stage.open()])
    for (let round = 0; round < ROUNDS; round++) {
      const name = `flow-${round}`
      await deploy(a, dag({ name }))
      const [started] = await Promise.all([
        end(start(a, name)),
        b.catalog.retire({ tenant: null, name, version: null, actor: null }),
      ])
      expect(typeof started === 'string' ? started : 'started').toMatch(/^(started|conflict)$/)
      expect(await end(start(a, name))).toBe('conflict')
    }
  })
})
