import { expect, it } from 'vitest'
import { SLOT } from '../../src/net/slots.ts'
import { dag, deploy, instances, metaOf, onBothStores, recorded, refusal, start } from './stage.ts'

onBothStores('deploying', (stage) => {
  it('stores the text, who deployed it, and the compiled net', async () => {
    const process = await stage.open()
    const text = dag({ version: '1.0', trigger: '{ event: user.registered }' })
    const { row, what, warnings } = await deploy(process, text, { actor: 'ada' })
    expect(what).toBe('created')
    expect(warnings).toEqual([])
    expect(row).toMatchObject({
      dialect: 'dag',
      name: 'onboarding',
      version: '1.0',
      number: 1,
      source: text,
      createdBy: 'ada',
      usedAt: null,
      retiredAt: null,
      latest: true,
    })
    const stored = await process.catalog.get({ tenant: null, name: 'onboarding', version: '1.0' })
    expect(stored).toEqual(row)
    expect(await process.store.read.net(row.netHash)).not.toBeNull()
    const [event] = await recorded(process, 'workflow.deployed')
    expect(event).toMatchObject({ actor: 'ada', instanceId: null })
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ name: 'onboarding', version: '1.0', what: 'created' })
  })

  it('deploying the same text again changes and records nothing', async () => {
    const process = await stage.open()
    const first = await deploy(process, dag({ version: '1' }))
    const again = await deploy(process, dag({ version: '1' }), { actor: 'bob' })
    expect(again).toMatchObject({ what: 'unchanged', row: first.row })
    expect(await recorded(process, 'workflow.deployed')).toHaveLength(1)
  })

  it('replaces the text of a version that was never started', async () => {
    const process = await stage.open()
    const first = await deploy(process, dag({ version: '1' }))
    const second = await deploy(process, dag({ version: '1', steps: 'create greet' }))
    expect(second.what).toBe('replaced')
    expect(second.row).toMatchObject({ id: first.row.id, number: 1, latest: true })
    expect(second.row.netHash).not.toBe(first.row.netHash)
    const { id } = await start(process, 'onboarding')
    expect((await process.store.read.instance(id))?.netHash).toBe(second.row.netHash)
  })

  it('a version that was started is immutable; the refusal suggests a new version', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1.4' }))
    await deploy(process, dag({ version: '1.5', steps: 'other' }))
    await start(process, 'onboarding', { version: '1.4' })
    const refused = await refusal(deploy(process, dag({ version: '1.4', steps: 'create greet' })))
    expect(refused.code).toBe('conflict')
    expect(refused.message).toContain("version '1.4' of workflow 'onboarding' has been started")
    expect(refused.details).toEqual({ name: 'onboarding', version: '1.4', suggested: '1.6' })
    expect((await deploy(process, dag({ version: '1.4' }))).what).toBe('unchanged')
    const row = await process.catalog.get({ tenant: null, name: 'onboarding', version: '1.4' })
    expect(row?.source).toBe(dag({ version: '1.4' }))
    expect(row?.usedAt).not.toBeNull()
  })

  it('unversioned texts are numbered 1, 2, 3; the same text as the latest is unchanged', async () => {
    const process = await stage.open()
    expect((await deploy(process, dag())).row.version).toBe('1')
    expect((await deploy(process, dag())).what).toBe('unchanged')
    expect((await deploy(process, dag({ steps: 'a' }))).row.version).toBe('2')
    const third = await deploy(process, dag())
    expect([third.what, third.row.version]).toEqual(['created', '3'])
    await deploy(process, dag({ version: '7' }))
    expect((await deploy(process, dag({ steps: 'b' }))).row.version).toBe('8')
  })

  it('accepts every notation: dag, net, chain; each can be started', async () => {
    const process = await stage.open()
    const net = 'kind: Net\nversion: 1\nname: order\nnodes:\n  ask: { gate: Ship it? }\ninput: { total: 3 }\n'
    const chain = 'type: chain\nname: mail\nsteps:\n  - { type: email.send, args: [hello] }\n  - { type: email.log }\n'
    for (const [text, dialect, name] of [
      [dag(), 'dag', 'onboarding'],
      [net, 'net', 'order'],
      [chain, 'ojs', 'mail'],
    ] as const) {
      const { row } = await deploy(process, text)
      expect(row).toMatchObject({ dialect, name, version: '1' })
      const { id, created, definition } = await start(process, name)
      expect(created).toBe(true)
      expect(definition.id).toBe(row.id)
      expect(await process.store.read.instance(id)).toMatchObject({ name, dialect, netHash: row.netHash })
    }
    const [mail] = await instances(process, 'mail')
    const [run] = await process.store.read.instanceRuns({ instanceId: mail?.id ?? '', limit: 5, after: null })
    expect(run).toMatchObject({ type: 'email.send' })
    expect(JSON.parse(run?.payload ?? '')).toEqual(['hello'])
    const [order] = await instances(process, 'order')
    const [input] = await process.store.read.slots({ instanceId: order?.id ?? '', prefix: SLOT.input.prefix })
    expect(input?.value).toBe('{"total":3}')
  })

  it('another process starts it from the stored net, without parsing the text', async () => {
    const first = await stage.open()
    const { row } = await deploy(first, dag({ steps: 'create greet' }))
    await stage.sql("UPDATE workflow_definition SET source = 'not a definition'")
    const second = await stage.open()
    const { id } = await start(second, 'onboarding', { input: { user: 7 } })
    const instance = await second.store.read.instance(id)
    expect(instance).toMatchObject({ netHash: row.netHash, state: 'running' })
  })

  it('mistakes are reported with their lines, and nothing is kept', async () => {
    const process = await stage.open()
    const refused = await refusal(deploy(process, dag({ steps: 'a a' })))
    expect(refused.code).toBe('invalid_definition')
    expect(refused.message).toMatch(/flow\.yaml[\s\S]*\d+:\d+/)
    expect((await refusal(deploy(process, `${dag()}# \u0000`))).code).toBe('unstorable')
    for (const nameless of ['type: chain\nsteps: [{ type: a }]', 'kind: Net\nversion: 1\nnodes: { a: { run: b } }']) {
      expect((await refusal(deploy(process, nameless))).message).toContain('started by its name, and this has none')
    }
    const query = { tenant: null, name: null, dialect: null, limit: 10, before: null }
    expect(await process.catalog.list(query)).toEqual([])
  })

  it('a nested workflow is resolved when its parent is deployed, and stays the same', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'inner', steps: 'one' }))
    const outer = `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: outer, version: '1' }
spec:
  steps:
    - { name: nest, workflow: inner, timeout: 5m }
`
    const first = await deploy(process, outer)
    await start(process, 'outer')
    await deploy(process, dag({ name: 'inner', steps: 'one two' }))
    const again = await deploy(process, outer)
    expect(again.what).toBe('unchanged')
    expect(again.row.netHash).toBe(first.row.netHash)
    expect(again.warnings.map((w) => w.hint)).toContain(
      'a definition it refers to has changed: give it a new version to use that',
    )
    const second = await deploy(process, outer.replace("'1'", "'2'"))
    expect(second.row.netHash).not.toBe(first.row.netHash)
    const missing = await refusal(deploy(process, outer.replace('workflow: inner', 'workflow: iner')))
    expect(missing.code).toBe('invalid_definition')
  })
})

onBothStores('starting by name', (stage) => {
  it('takes the latest version, or the one that is named', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1' }))
    await deploy(process, dag({ version: '2', steps: 'a b' }))
    expect((await start(process, 'onboarding')).definition).toMatchObject({ version: '2', latest: true })
    expect((await start(process, 'onboarding', { version: '1' })).definition).toMatchObject({
      version: '1',
      latest: false,
    })
  })

  it('the instance records its definition and trigger in addition to the meta of definition and caller', async () => {
    const process = await stage.open()
    const text = dag({ version: '1', spec: 'description: Welcomes people' })
    const { row } = await deploy(process, text)
    const { id } = await start(process, 'onboarding', { meta: { correlationId: 'c-1', trigger: 'x' }, actor: 'ada' })
    expect(await metaOf(process, id)).toMatchObject({
      version: '1',
      description: 'Welcomes people',
      correlationId: 'c-1',
      definition: { name: 'onboarding', version: '1', id: row.id },
      trigger: { kind: 'manual' },
    })
  })

  it('a start key starts one instance', async () => {
    const process = await stage.open()
    await deploy(process, dag())
    const first = await start(process, 'onboarding', { startKey: 'user-7' })
    const again = await start(process, 'onboarding', { startKey: 'user-7' })
    expect(again).toMatchObject({ id: first.id, created: false })
  })

  it('start: false leaves the instance idle, and marks the version as used', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1' }))
    const { id } = await start(process, 'onboarding', { start: false })
    expect((await process.store.read.instance(id))?.state).toBe('idle')
    expect((await refusal(deploy(process, dag({ version: '1', steps: 'b' })))).code).toBe('conflict')
    await process.engine.startInstance({ id, actor: null })
    expect((await process.store.read.instance(id))?.state).toBe('running')
  })

  it('unknown names and versions are not found, with a suggestion', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1.0' }))
    expect(await refusal(start(process, 'onbording'))).toMatchObject({
      code: 'not_found',
      message: "there is no workflow 'onbording'; did you mean 'onboarding'?",
      details: { kind: 'definition', id: 'onbording', version: null, did_you_mean: 'onboarding' },
    })
    expect(await refusal(start(process, 'onboarding', { version: '1.1' }))).toMatchObject({
      code: 'not_found',
      details: { version: '1.1', did_you_mean: '1.0' },
    })
  })

  it('meta that is not an object is refused', async () => {
    const process = await stage.open()
    await deploy(process, dag())
    expect((await refusal(start(process, 'onboarding', { meta: [1] }))).code).toBe('invalid_request')
  })

  it('a definition whose net was lost is reported, and deploying it again repairs it', async () => {
    await deploy(await stage.open(), dag({ version: '1' }))
    await stage.sql('DELETE FROM workflow_net')
    const process = await stage.open()
    expect(await process.store.read.doctor()).toContainEqual(
      expect.objectContaining({ check: 'definition_net', finding: expect.stringContaining('deploy it again') }),
    )
    expect((await refusal(start(process, 'onboarding'))).message).toContain(
      "the net of definition 'onboarding 1' is missing; deploy it again",
    )
    expect((await deploy(process, dag({ version: '1' }))).what).toBe('unchanged')
    expect((await start(process, 'onboarding')).created).toBe(true)
  })
})

onBothStores('retiring', (stage) => {
  it('a retired version cannot be started; running instances continue; the version before it is the latest again', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1' }))
    await deploy(process, dag({ version: '2', steps: 'b' }))
    const { id } = await start(process, 'onboarding')
    const retired = await process.catalog.retire({ tenant: null, name: 'onboarding', version: '2', actor: 'ada' })
    expect(retired.map((r) => [r.version, r.retiredAt === null, r.latest])).toEqual([['2', false, false]])
    expect(await refusal(start(process, 'onboarding', { version: '2' }))).toMatchObject({
      code: 'conflict',
      details: { name: 'onboarding', version: '2' },
    })
    expect((await start(process, 'onboarding')).definition.version).toBe('1')
    expect((await process.store.read.instance(id))?.state).toBe('running')
    expect(await recorded(process, 'workflow.retired')).toMatchObject([{ actor: 'ada' }])
  })

  it('without a version all versions are retired; retiring again changes nothing', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1' }))
    await deploy(process, dag({ version: '2', steps: 'b' }))
    const all = { tenant: null, name: 'onboarding', version: null, actor: null }
    expect((await process.catalog.retire(all)).map((r) => r.version)).toEqual(['2', '1'])
    expect((await process.catalog.retire(all)).map((r) => r.version)).toEqual(['2', '1'])
    expect(await recorded(process, 'workflow.retired')).toHaveLength(2)
    expect((await refusal(start(process, 'onboarding'))).code).toBe('conflict')
    expect(await process.catalog.list({ tenant: null, name: null, dialect: null, limit: 9, before: null })).toEqual([])
    const newest = await process.catalog.get({ tenant: null, name: 'onboarding', version: null })
    expect(newest).toMatchObject({ version: '2', latest: false })
  })

  it('deploying the same text again restores a retired version', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1' }))
    await start(process, 'onboarding')
    await process.catalog.retire({ tenant: null, name: 'onboarding', version: null, actor: null })
    const back = await deploy(process, dag({ version: '1' }))
    expect([back.what, back.row.retiredAt, back.row.latest]).toEqual(['restored', null, true])
    expect((await start(process, 'onboarding')).created).toBe(true)
    expect((await refusal(deploy(process, dag({ version: '1', steps: 'b' })))).code).toBe('conflict')
  })

  it('an unknown definition cannot be retired', async () => {
    const process = await stage.open()
    await deploy(process, dag({ version: '1' }))
    const unknown = { tenant: null, name: 'onboardin', version: null, actor: null }
    expect(await refusal(process.catalog.retire(unknown))).toMatchObject({
      code: 'not_found',
      details: { did_you_mean: 'onboarding' },
    })
    const version = { tenant: null, name: 'onboarding', version: '3', actor: null }
    expect((await refusal(process.catalog.retire(version))).code).toBe('not_found')
  })
})

onBothStores('tenants', (stage) => {
  it('have separate names, versions and texts', async () => {
    const process = await stage.open()
    const red = await deploy(process, dag({ version: '1' }), { tenant: 'red' })
    const blue = await deploy(process, dag({ version: '1', steps: 'b' }), { tenant: 'blue' })
    const none = await deploy(process, dag({ version: '1', steps: 'c' }))
    expect([red.what, blue.what, none.what]).toEqual(['created', 'created', 'created'])
    for (const [tenant, row] of [
      ['red', red.row],
      ['blue', blue.row],
      [null, none.row],
    ] as const) {
      expect(await process.catalog.get({ tenant, name: 'onboarding', version: null })).toEqual(row)
      const query = { tenant, name: null, dialect: null, limit: 10, before: null }
      const { source: _, plan: __, ...head } = row
      expect(await process.catalog.list(query)).toEqual([head])
      const { id } = await start(process, 'onboarding', { tenant })
      expect(await process.store.read.instance(id)).toMatchObject({ tenant, netHash: row.netHash })
    }
    await process.catalog.retire({ tenant: 'red', name: 'onboarding', version: null, actor: null })
    expect((await refusal(start(process, 'onboarding', { tenant: 'red' }))).code).toBe('conflict')
    expect((await start(process, 'onboarding', { tenant: 'blue' })).created).toBe(true)
    expect((await refusal(start(process, 'onboarding', { tenant: 'green' }))).code).toBe('not_found')
  })
})
