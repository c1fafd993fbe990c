/** Where an instance begins, which way its tokens go, and when it is over. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Net, Node } from '../../../src/net/net.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import type { Delivery } from '../../../src/worker/port.ts'
import { type Drive, net, node, ONCE, PLACES, run } from '../drive.ts'
import { arc, byType, events, open, routed, row, TWICE } from './stage.ts'

describe.each(PLACES)('entry, routing, termination on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('one token starts at the entry, whatever the name and position of the node', async () => {
    const id = await d.start({ net: net([node('end'), node('middle', ['end'])], { entry: ['middle'] }) })
    expect(await row(d, id)).toMatchObject({ live: 1, open: 1 })
    expect(await d.work()).toEqual(['middle', 'end'])
  })

  it.each([
    ['first', ['big']],
    ['every', ['big', 'any', 'also']],
  ] as const)('mode %s sends a token to %j', async (mode, expected) => {
    const arcs = [arc('never', 'input.n > 100'), arc('big', 'input.n > 10'), arc('any'), arc('also', 'results.a.ok')]
    const id = await d.start({
      net: net([routed('a', mode, arcs), node('never'), node('big'), node('any'), node('also')]),
      input: { n: 50 },
    })
    expect((await d.work((w) => (w.node === 'a' ? { ok: true } : null))).slice(1).sort()).toEqual([...expected].sort())
    expect(await d.state(id)).toBe('completed')
  })

  it('an entry that does not exist is refused', async () => {
    await expect(d.start({ net: net([node('a')], { entry: ['b'] }) })).rejects.toThrow("entry[0]: there is no node 'b'")
  })

  it('arcs of a loop are evaluated once, after its last item', async () => {
    const loop = { kind: 'each', items: 'input.list', body: run('item'), maxInFlight: 1, failFast: false } as const
    const id = await d.start({
      net: net([node('loop', ['after'], { work: loop }), node('after')]),
      input: { list: [1, 2, 3] },
    })
    expect(await d.work()).toEqual(['loop', 'loop', 'loop', 'after'])
    expect(await d.state(id)).toBe('completed')
  })

  it('a node fires once for every token that reaches it', async () => {
    const id = await d.start({ net: net([routed('a', 'every', [arc('b'), arc('b')]), node('b')]) })
    expect(await d.work()).toEqual(['a', 'b', 'b'])
    expect(await d.state(id)).toBe('completed')
  })

  it('the args of an arc are passed to the run it leads to', async () => {
    const arcs = [arc('b', null, { args: { n: '{{ input.n }}' } }), arc('b', null, { args: { n: 2 } })]
    await d.start({
      net: net([
        routed('a', 'every', arcs),
        routed('b', 'first', [arc('c', 'args.n == 2', { args: { from: '{{ args.n }}' } })]),
        node('c'),
      ]),
      input: { n: 1 },
    })
    await d.succeed(await d.claimOne())
    const both = await d.claim()
    expect(both.map((b) => b.payload)).toEqual(
      ['{"n":1}', '{"n":2}'].map((t) => expect.stringMatching(t.replace(':', ': ?'))),
    )
    await d.engine.patchContext({ instanceId: both[0]?.instanceId as string, set: { n: 9 }, actor: null })
    for (const b of both) await d.succeed(b)
    const c = await d.claim()
    expect(c.map((x) => JSON.parse(x.payload))).toEqual([{ from: 2 }])
    await d.succeed(c[0] as Delivery)
  })

  it.each([
    ['end', 'completed', null],
    ['fail', 'failed', 'no_match'],
  ] as const)('with noMatch %s a branch without a matching arc ends it %s', async (noMatch, state, code) => {
    const id = await d.start({
      net: net([routed('a', 'first', [arc('b', 'input.go')]), node('b')], { noMatch }),
      input: { go: false },
    })
    expect(await d.work()).toEqual(['a'])
    expect([await d.state(id), await d.error(id)]).toEqual([state, code])
  })

  it('arcs are evaluated after a failure too; a guarded one handles it, an unguarded one does not', async () => {
    const handled = await d.start({
      net: net([
        routed('a', 'first', [arc('repair', "event.status == 'failed'"), arc('b')], {
          onFailure: 'route',
          retry: ONCE,
        }),
        node('repair'),
        node('b'),
      ]),
    })
    expect(await d.work((w) => (w.node === 'a' ? new Error('bad') : null))).toEqual(['a', 'repair'])
    expect(await d.state(handled)).toBe('completed')
    const open = await d.start({
      net: net([routed('a', 'first', [arc('b')], { onFailure: 'route', retry: ONCE }), node('b')]),
    })
    expect(await d.work((w) => (w.node === 'a' ? new Error('bad') : null))).toEqual(['a', 'b'])
    expect(await d.state(open)).toBe('failed')
  })

  it('the first admission rule that holds decides; a denied token can be discarded', async () => {
    const admit = (onDeny: 'hold' | 'discard') => ({
      rules: [
        { when: 'input.n > 10', allow: false },
        { when: null, allow: true },
      ],
      onDeny,
    })
    const gated = (onDeny: 'hold' | 'discard') => net([node('a', ['b']), node('b', [], { admit: admit(onDeny) })])
    const open = await d.start({ net: gated('discard'), input: { n: 5 } })
    expect(await d.work()).toEqual(['a', 'b'])
    const denied = await d.start({ net: gated('discard'), input: { n: 50 } })
    expect(await d.work()).toEqual(['a'])
    expect(await events(d, denied)).toContain('node.discarded b')
    expect([await d.state(open), await d.state(denied)]).toEqual(['completed', 'completed'])
  })

  it('with held tokens only, it waits, or completes without them', async () => {
    const gated = (held: 'wait' | 'complete') =>
      net(
        [node('a', ['b']), node('b', [], { admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' } })],
        { held },
      )
    const waits = await d.start({ net: gated('wait') })
    const completes = await d.start({ net: gated('complete') })
    expect(await d.work()).toEqual(['a', 'a'])
    expect([await d.state(waits), await d.state(completes)]).toEqual(['waiting', 'completed'])
    expect(await row(d, waits)).toMatchObject({ held: 1, open: 0 })
    await d.engine.cancelInstance({ id: waits, actor: null })
  })

  it('it is not complete while a retry is due or a join waits', async () => {
    const fork = {
      ...node('a', ['b', 'c']),
      next: { mode: 'every', arcs: [arc('b'), arc('c')], scope: 'join' },
    } as Node
    const id = await d.start({
      net: net([fork, node('b', ['join'], { retry: TWICE }), node('c', ['join']), node('join', [], { join: 'scope' })]),
    })
    await d.succeed(await d.claimOne())
    const both = await d.claim()
    await d.succeed(byType(both, 'c'))
    expect(await d.claim()).toEqual([])
    await d.fail(byType(both, 'b'))
    await d.pass(500)
    expect(await d.state(id)).toBe('running')
    await d.pass(600)
    expect(await d.work()).toEqual(['b', 'join'])
    expect(await d.state(id)).toBe('completed')
  })

  it.each([
    ['fail', 'failed', 'failed'],
    ['partial', 'completed', 'partial'],
  ] as const)(
    'a final runs once after the last branch, also after a failure, and its own failure means %s',
    async (onFailure, state, outcome) => {
      const ended = (finals: Net['finals']) =>
        net([node('a', ['b', 'c'], {}), node('b'), node('c', [], { retry: ONCE }), node('last', [], { retry: ONCE })], {
          finals,
        })
      const finals = [{ node: 'last', when: 'always', onFailure }] as const
      const good = await d.start({ net: ended(finals) })
      const order = await d.work((w) => (w.node === 'last' ? new Error('bad') : null))
      expect([order.at(-1), order.filter((n) => n === 'last').length]).toEqual(['last', 1])
      expect(await row(d, good)).toMatchObject({ state, outcome })
      const bad = await d.start({ net: ended(finals) })
      expect((await d.work((w) => (w.node === 'c' ? new Error('bad') : null))).at(-1)).toBe('last')
      expect(await d.state(bad)).toBe('failed')
    },
  )

  it.each([
    [{ failedOn: 'unhandled', partial: false }, 'failed', 'failed'],
    [{ failedOn: 'unhandled', partial: true }, 'completed', 'partial'],
    [{ failedOn: 'finals', partial: false }, 'completed', 'success'],
  ] as const)('the verdict over a failed branch follows the policy %j', async (verdict, state, outcome) => {
    const id = await d.start({
      net: net([node('a', ['b', 'c']), node('b', [], { retry: ONCE, onFailure: 'route' }), node('c')], { verdict }),
    })
    await d.work((w) => (w.node === 'b' ? new Error('bad') : null))
    expect(await row(d, id)).toMatchObject({ state, outcome, failed: 1, succeeded: 2 })
  })

  it('a pass node routes and sets the context without a worker', async () => {
    const setting = arc('b', null, { set: { colour: '{{ input.colour }}' } })
    const painted = { work: run('b', { args: { c: '{{ ctx.colour }}' } }) }
    const arcs = [arc('blue', "ctx.colour == 'blue'"), arc('red', "ctx.colour == 'red'")]
    const nodes = [
      routed('route', 'first', [setting], { work: { kind: 'pass' } }),
      routed('b', 'every', arcs, painted),
      node('blue'),
      node('red'),
    ]
    const id = await d.start({ net: net(nodes), input: { colour: 'red' } })
    const b = await d.claimOne()
    expect(JSON.parse(b.payload)).toEqual({ c: 'red' })
    await d.succeed(b)
    expect(await d.work()).toEqual(['red'])
    expect(await d.state(id)).toBe('completed')
  })
})

describe('a net as a file', () => {
  it('ends a branch that no arc matches, holds denied tokens and waits with them, by default', async () => {
    const { start } = await readDefinition(
      'n.yaml',
      'kind: Net\nversion: 1\nnodes:\n  a: { run: x, admit: ctx.open }\n',
    )
    expect(start.net).toMatchObject({
      noMatch: 'end',
      held: 'wait',
      finals: [],
      verdict: { failedOn: 'unhandled', partial: false },
      nodes: [{ admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' } }],
    })
  })
})
