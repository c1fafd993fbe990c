/** Inputs of steps and undos where workflows are nested, steps are skipped and instances are retried. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/net/net.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { Drive, PLACES } from '../engine/drive.ts'

const flow = (name: string, spec: string): string =>
  `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: ${name} }\nspec:\n${spec}`

const ORDER = flow(
  'order',
  `  failurePolicy: compensate
  steps:
    - { name: price, onFailure: skip }
    - { name: deliver, workflow: ship, dependsOn: [price], with: { to: '{{ input.to }}', price: '{{ results.price }}' } }
    - { name: bill, dependsOn: [deliver], with: { parcel: '{{ results.deliver.pack.parcel }}' } }
  compensation:
    - { step: deliver, uses: deliver.undo, with: { parcel: '{{ results.deliver.pack.parcel }}' } }
  workflows:
    ship:
      steps:
        - { name: pack }
        - { name: send, workflow: carry, dependsOn: [pack] }
    carry:
      steps: [{ name: drive }]
`,
)

describe.each(PLACES)('nested workflows on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(() => d.close())

  /** Executes it; `answers` by step, an Error fails the step for good. Returns the arguments of each. */
  async function play(answers: Readonly<Record<string, Json | Error>> = {}): Promise<Map<string, any>> {
    const given = new Map<string, any>()
    for (let [next] = await d.claim(1); next !== undefined; [next] = await d.claim(1)) {
      const name = `${next.role === 'undo' ? 'undo ' : ''}${next.node}`
      given.set(name, JSON.parse(next.payload))
      const answer = answers[name] ?? { by: name }
      if (answer instanceof Error) await d.fail(next, { category: 'agent', message: answer.message })
      else await d.succeed(next, answer)
    }
    return given
  }

  const start = async (text: string, input: Json, files: Readonly<Record<string, string>> = {}): Promise<string> => {
    const resolve = (name: string) => (files[name] === undefined ? null : { file: name, text: files[name] })
    return d.start({ ...(await readDefinition('main.yaml', text, { resolve })).start, input })
  }

  const SHIPPED = { pack: { parcel: 7 }, send: { drive: { by: 'drive' } } }

  it('inner steps get the input built by `with`; later steps get the results of all inner steps, by name', async () => {
    const id = await start(ORDER, { to: 'Bern' })
    const given = await play({ price: 10, pack: { parcel: 7 } })
    const inner = { agent: null, action: null, input: { to: 'Bern', price: 10 } }
    expect(given.get('pack')).toEqual({ ...inner, results: {} })
    expect(given.get('drive')).toEqual({ ...inner, results: {} })
    expect(given.get('bill')).toEqual({
      agent: null,
      action: null,
      input: { to: 'Bern' },
      results: { deliver: SHIPPED },
      with: { parcel: 7 },
    })
    expect(await d.state(id)).toBe('completed')
  })

  it('a skipped step appears with null, for the nested workflow too', async () => {
    const id = await start(ORDER, { to: 'Bern' })
    const given = await play({ price: new Error('no price') })
    expect(given.get('pack')).toMatchObject({ input: { to: 'Bern', price: null } })
    expect(await d.state(id)).toBe('completed')
  })

  it('a skipped nested workflow appears with null, even if parts of it completed; so does a skipped gate', async () => {
    const id = await start(
      flow(
        'flow',
        `  steps:
    - { name: part, workflow: w, onFailure: skip }
    - { name: asked, approval: true, onFailure: skip }
    - { name: after, dependsOn: [part, asked], with: { done: '{{ results.part.one }}' } }
  workflows: { w: { steps: [{ name: one }, { name: two, dependsOn: [one] }] } }
`,
      ),
      null,
    )
    const [gate] = await d.store.read.openGates({ instanceId: id, limit: 1 })
    await d.engine.answerGate({ gateId: gate?.id as string, approved: false, actor: 'ada', answer: { why: 'no' } })
    const given = await play({ two: new Error('broke') })
    expect(given.get('after')).toMatchObject({ results: { part: null, asked: null }, with: { done: null } })
    expect(await d.state(id)).toBe('completed')
  })

  it('its undo gets the input of the nested workflow and the results of all its steps', async () => {
    const id = await start(ORDER, { to: 'Bern' })
    const given = await play({ price: 10, pack: { parcel: 7 }, bill: new Error('no money') })
    expect(given.get('undo deliver')).toEqual({
      agent: null,
      action: null,
      input: { to: 'Bern' },
      step: { name: 'deliver', input: { to: 'Bern', price: 10 }, result: SHIPPED },
      with: { parcel: 7 },
    })
    expect(await d.state(id)).toBe('compensated')
  })

  it('a retried instance continues with the results of the nested workflow that had completed', async () => {
    const text = ORDER.replace('failurePolicy: compensate', 'failurePolicy: abort')
    const id = await start(text, { to: 'Bern' })
    await play({ pack: { parcel: 7 }, bill: new Error('no money') })
    expect(await d.state(id)).toBe('failed')
    const again = await d.engine.retryInstance({ id, actor: 'ada' })
    const given = await play()
    expect([...given.keys()]).toEqual(['bill'])
    expect(given.get('bill')).toMatchObject({ results: { deliver: SHIPPED }, with: { parcel: 7 } })
    expect(await d.state(again.id)).toBe('completed')
  })

  it("retried with another input, the undo of a carried-over step receives that step's original input", async () => {
    const text = flow(
      'flow',
      `  failurePolicy: abort
  steps:
    - { name: make, with: { size: '{{ input.size }}' } }
    - { name: use, dependsOn: [make], onFailure: abort }
    - { name: last, dependsOn: [use], onFailure: compensate }
  compensation: [{ step: make, uses: unmake }]
`,
    )
    const id = await start(text, { size: 1 })
    await play({ make: 'made', use: new Error('broke') })
    const again = await d.engine.retryInstance({ id, actor: 'ada', input: { size: 2 } })
    const given = await play({ last: new Error('broke') })
    expect([...given.keys()]).toEqual(['use', 'last', 'undo make'])
    expect(given.get('use')).toMatchObject({ input: { size: 2 } })
    expect(given.get('undo make')).toEqual({
      agent: null,
      action: null,
      input: { size: 2 },
      step: {
        name: 'make',
        input: { agent: null, action: null, input: { size: 1 }, results: {}, with: { size: 1 } },
        result: 'made',
      },
    })
    expect(await d.state(again.id)).toBe('compensated')
  })

  it('one from another file runs as if it were written inline; so does one of another notation, with its own arguments', async () => {
    const id = await start(
      flow(
        'main',
        `  steps:
    - { name: first, workflow: other, with: { n: 1 } }
    - { name: jobs, workflow: chain, dependsOn: [first] }
    - { name: last, dependsOn: [first, jobs] }
`,
      ),
      { n: 0 },
      {
        other: flow('other', '  steps: [{ name: x }]\n'),
        chain:
          'type: chain\nname: chain\nsteps:\n  - { type: order.check, args: [1] }\n  - { type: order.pay, args: [2] }\n',
      },
    )
    const given = await play({ x: { n: 2 } })
    expect(given.get('x')).toMatchObject({ input: { n: 1 } })
    expect([given.get('0'), given.get('1')]).toEqual([[1], [2]])
    expect(given.get('last')).toMatchObject({
      results: { first: { x: { n: 2 } }, jobs: { 0: { by: '0' }, 1: { by: '1' } } },
    })
    expect(await d.state(id)).toBe('completed')
  })

  it('steps that share a join run when all its dependencies have ended; the join is not among the results', async () => {
    const id = await start(
      flow(
        'outer',
        `  steps:
    - { name: part, workflow: w }
    - { name: after, dependsOn: [part] }
  workflows:
    w:
      steps:
        - { name: a1 }
        - { name: a2, onFailure: skip }
        - { name: b1, dependsOn: [a1, a2] }
        - { name: b2, dependsOn: [a2, a1] }
        - { name: b3, dependsOn: [a1, a2], with: '{{ results.a1 }}' }
`,
      ),
      null,
    )
    const given = await play({ a1: 1, a2: new Error('broke'), b1: 3, b2: 4, b3: 5 })
    expect([...given.keys()].slice(0, 2).sort()).toEqual(['a1', 'a2'])
    for (const b of ['b1', 'b2', 'b3']) expect(given.get(b)).toMatchObject({ results: { a1: 1, a2: null } })
    expect(given.get('b3')).toMatchObject({ with: 1 })
    const part = { a1: 1, a2: null, b1: 3, b2: 4, b3: 5 }
    expect(given.get('after').results).toEqual({ part })
    expect((await d.results(id))['part']).toEqual(part)
  })

  it("a nested workflow's failure applies its own policy first, then that of its step", async () => {
    const id = await start(
      flow(
        'outer',
        `  failurePolicy: compensate
  steps:
    - { name: before }
    - { name: part, workflow: w, dependsOn: [before] }
  compensation: [{ step: before, uses: undo.before }]
  workflows:
    w:
      failurePolicy: compensate
      steps: [{ name: one }, { name: two, dependsOn: [one] }]
      compensation: [{ step: one, uses: undo.one }]
`,
      ),
      null,
    )
    const given = await play({ two: new Error('broke') })
    expect([...given.keys()]).toEqual(['before', 'one', 'two', 'undo one', 'undo before'])
    expect(await d.state(id)).toBe('compensated')
  })

  /** A nested workflow parallel to a step that fails: it is running when the whole workflow is rolled back. */
  const BESIDE = (policy: string): string =>
    flow(
      'outer',
      `  failurePolicy: ${policy}
  steps:
    - { name: before }
    - { name: part, workflow: w, dependsOn: [before] }
    - { name: breaks, dependsOn: [before] }
  compensation:
    - { step: before, uses: undo.before }
    - { step: part, uses: undo.part }
  workflows:
    w:
      steps: [{ name: one }, { name: two, dependsOn: [one] }, { name: three, dependsOn: [two] }]
      compensation: [{ step: one, uses: undo.one }, { step: two, uses: undo.two }]
`,
    )

  /** `one` has completed and `two` is executing when `breaks` fails. */
  async function breakBeside(policy: string): Promise<{ readonly id: string; readonly child: string }> {
    const id = await start(BESIDE(policy), null)
    await d.succeed(await d.claimOne())
    const work = new Map((await d.claim()).map((run) => [run.node, run]))
    await d.succeed(work.get('one')!)
    const two = await d.claimOne()
    await d.session.started([{ runId: two.runId, epoch: two.epoch, at: await d.store.now() }])
    await d.fail(work.get('breaks')!, { category: 'agent' })
    await d.succeed(two)
    const [child] = (await d.engine.view(id))?.children ?? []
    return { id, child: child?.id as string }
  }

  it('one that is running when the whole workflow is rolled back undoes its completed steps first', async () => {
    const { id, child } = await breakBeside('compensate')
    const given = await play()
    expect([...given.keys()]).toEqual(['undo two', 'undo one', 'undo before'])
    expect([await d.state(child), await d.state(id)]).toEqual(['compensated', 'compensated'])
    expect(await d.doctor()).toEqual([])
  })

  it('if its undo fails, nothing further is undone: the whole workflow is partly rolled back, with the error of that undo', async () => {
    const { id, child } = await breakBeside('compensate')
    const given = await play({ 'undo two': new Error('stuck') })
    expect([...given.keys()]).toEqual(['undo two'])
    expect([await d.state(child), await d.state(id)]).toEqual(['failed', 'failed'])
    const view = await d.engine.view(id)
    expect(view?.instance.outcome).toBe('rolled_back_partial')
    expect([view?.error?.message, view?.undoError?.message]).toEqual(['it broke', 'stuck'])
  })

  it('one that is running when the whole workflow is aborted is cancelled, and nothing is undone', async () => {
    const { id, child } = await breakBeside('abort')
    expect([...(await play()).keys()]).toEqual([])
    expect([await d.state(child), await d.state(id)]).toEqual(['cancelled', 'failed'])
  })
})
