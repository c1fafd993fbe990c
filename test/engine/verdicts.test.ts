/** How an instance that routes its failures ends, its error, and what its finals and its history receive. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { Arc, Net, Node } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const arc = (to: string, when: string | null = null): Arc => ({ to, when, args: null, set: null })
const next = (...arcs: readonly Arc[]): Node['next'] => ({ mode: 'first', arcs, scope: null })
const routes = { retry: ONCE, onFailure: 'route' } as const
const FINAL = { retryable: false }
const verdict = (failedOn: Net['verdict']['failedOn'], partial = false): Partial<Net> => ({
  verdict: { failedOn, partial },
})

describe.each(PLACES)('verdicts on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const end = async (id: string) => {
    const row = await d.store.read.instance(id)
    return [row?.state, row?.outcome, (await d.engine.view(id))?.error?.message ?? null]
  }

  const forked = (rest: Partial<Net>): Net =>
    net([node('a', ['after'], routes), node('b', ['c'], routes), node('after'), node('c')], {
      entry: ['a', 'b'],
      ...rest,
    })

  it('the first unhandled failure is kept as the error, though everything continues', async () => {
    const id = await d.start({ net: forked(verdict('unhandled')) })
    const [a, b] = await d.claim()
    await d.fail(a as never, { ...FINAL, message: 'first' })
    await d.fail(b as never, { ...FINAL, message: 'second' })
    await d.work()
    expect(await end(id)).toEqual(['failed', 'failed', 'first'])
    expect(await d.recorded(id, 'instance.failed')).toMatchObject([
      { data: { error: { message: 'first', node: 'a' } } },
    ])
  })

  it('a parent receives the error of a child that failed without a drain', async () => {
    const inner = net([node('x', [], { ...routes, next: next(arc('y')) }), node('y')], { name: 'inner' })
    const outer = net([
      node('sub', [], { work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null } }),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    await d.fail(await d.claimOne(), { ...FINAL, code: 'no_such_thing', message: 'inner' })
    await d.work()
    expect(await end(id)).toEqual(['failed', 'failed', 'inner'])
  })

  it('first: an unhandled failure drains at once, a handled one does not', async () => {
    const id = await d.start({ net: forked(verdict('first', true)) })
    const [a, b] = await d.claim()
    await d.fail(a as never, { ...FINAL, message: 'at once' })
    expect(await d.claim()).toEqual([])
    await d.succeed(b as never)
    expect(await d.work()).toEqual([])
    expect(await end(id)).toEqual(['failed', 'failed', 'at once'])
    const handled = net(
      [node('a', [], { ...routes, next: next(arc('z', 'not event.ok')) }), node('z')],
      verdict('first'),
    )
    const good = await d.start({ net: handled })
    await d.fail(await d.claimOne(), FINAL)
    expect(await d.work()).toEqual(['z'])
    expect(await end(good)).toEqual(['completed', 'success', null])
  })

  it('any: a handled failure fails it as well, with the reason', async () => {
    const caught = node('a', [], { ...routes, next: next(arc('z', 'not event.ok')) })
    const id = await d.start({ net: net([caught, node('z')], verdict('any')) })
    await d.fail(await d.claimOne(), { ...FINAL, message: 'caught' })
    await d.work()
    expect(await end(id)).toEqual(['failed', 'failed', 'caught'])
    const half = await d.start({ net: net([caught, node('z')], verdict('any', true)) })
    await d.fail(await d.claimOne(), FINAL)
    await d.work()
    expect((await end(half)).slice(0, 2)).toEqual(['completed', 'partial'])
  })

  const summing = (rest: Partial<Net> = {}): Net =>
    net(
      [
        node('p', ['a', 'l'], { work: { kind: 'pass' } }),
        node('a', [], { ...routes, next: next(arc('b', 'not event.ok')) }),
        node('b', [], routes),
        node('l', [], {
          work: {
            kind: 'each',
            items: '[1, 2, 3]',
            body: run('item', { args: '{{ item }}' }),
            maxInFlight: null,
            failFast: false,
            tolerant: true,
            collect: 'list',
          },
          retry: ONCE,
        }),
        node('end', [], { work: run('end', { args: { all: '{{ args }}' } }) }),
      ],
      { entry: ['p'], finals: [{ node: 'end', when: 'always', onFailure: 'fail' }], summary: true, ...rest },
    )

  it('a final receives a summary: counts, references to results, failures', async () => {
    const id = await d.start({ net: summing() })
    await d.work((w) => {
      if (w.node === 'a') return new Error('a_broke')
      if (w.node === 'b') return new Error('b_broke')
      return w.node === 'l' && w.payload === '2' ? new Error('item') : w.node
    })
    const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 50, after: null })
    const { all } = JSON.parse(runs.find((r) => r.role === 'final')?.payload as string)
    expect(all).toEqual({
      execution_id: id,
      status_so_far: 'failed',
      counts: { steps: 4, runs: 5, branches: 2, failed: 3 },
      results: { l: { kind: 'result_ref', ref: `petrel://instances/${id}/results/l` } },
      failures: expect.arrayContaining([
        { step: 'a', code: 'a_broke', message: 'it broke', handled: true },
        { step: 'b', code: 'b_broke', message: 'it broke', handled: false },
        { step: 'l', code: 'items_failed', message: '1 of 3 items failed', handled: true },
      ]),
    })
    expect(all.failures).toHaveLength(3)
  })

  it('the summary is passed after a drain too, and a final without a template receives all of it', async () => {
    const plain = summing(verdict('first'))
    const nodes = plain.nodes.map((n) => (n.key === 'end' ? { ...n, work: run('end') } : n))
    const id = await d.start({ net: { ...plain, nodes } })
    const first = await d.claimOne()
    expect(first.node).toBe('a')
    // A timeout of the whole workflow cannot be handled: the others are not even started.
    await d.succeed(first)
    await d.work((w) => (w.node === 'l' ? 1 : null))
    const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 50, after: null })
    expect(JSON.parse(runs.find((r) => r.role === 'final')?.payload as string)).toMatchObject({
      status_so_far: 'success',
      counts: { steps: 3, runs: 4, branches: 2, failed: 0 },
      results: { a: {}, l: {} },
      failures: [],
    })
  })

  it('at most a hundred failures are recorded, and all are counted', async () => {
    const again = next(arc('a', '(ctx.n or 0) < 129'))
    const loop = node('a', [], {
      ...routes,
      next: { ...again, arcs: again.arcs.map((a) => ({ ...a, set: { n: '{{ (ctx.n or 0) + 1 }}' } })) },
    })
    const id = await d.start({
      net: net([loop, node('end', [], { work: run('end', { args: '{{ args }}' }) })], {
        entry: ['a'],
        finals: [{ node: 'end', when: 'always', onFailure: 'fail' }],
        summary: true,
      }),
    })
    await d.work((w) => (w.node === 'a' ? new Error('again') : null))
    const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 500, after: null })
    const all = JSON.parse(runs.find((r) => r.role === 'final')?.payload as string)
    expect(all.counts).toEqual({ steps: 130, runs: 130, branches: 1, failed: 130 })
    expect(all.failures).toHaveLength(100)
  })

  it('decisions are recorded where the net requests it', async () => {
    const gated = node('g', [], {
      work: { kind: 'pass' },
      admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' },
    })
    const dropped = node('x', [], { admit: { rules: [{ when: 'false', allow: true }], onDeny: 'discard' } })
    const list = node('l', [], {
      work: {
        kind: 'each',
        items: '[1, 2]',
        body: run('item', { args: '{{ item }}' }),
        maxInFlight: 1,
        failFast: false,
      },
    })
    const nodes = [
      node('s', ['g', 'x', 'l'], {
        next: { mode: 'every', arcs: [arc('g'), arc('x'), arc('l', 'true')], scope: null },
      }),
      gated,
      dropped,
      list,
    ]
    const id = await d.start({ net: net(nodes, { tells: true }) })
    await d.work()
    await d.engine.patchContext({ instanceId: id, set: { open: true }, actor: null })
    expect(await d.state(id)).toBe('completed')
    expect(await d.recorded(id, 'node.routed')).toMatchObject([
      {
        node: 's',
        data: { status: 'succeeded', mode: 'every', arcs: 3, taken: [0, 1, 2], to: ['g', 'x', 'l'], matched: true },
      },
      { node: 'l', data: { arcs: 0, taken: [], matched: false } },
      { node: 'g', data: { arcs: 0, taken: [], matched: false } },
    ])
    const [held] = await d.recorded(id, 'node.held')
    expect(held).toEqual({ node: 'g', data: { token: expect.any(Number), rule: null } })
    const [admitted] = await d.recorded(id, 'node.admitted')
    const [fired] = await d.recorded(id, 'node.fired')
    expect(admitted).toEqual({ node: 'g', data: { fire: fired?.data.fire, rule: 0 } })
    expect(fired).toMatchObject({ node: 'g', data: { kind: 'pass' } })
    expect(await d.recorded(id, 'node.discarded')).toEqual([{ node: 'x', data: { rule: null } }])
    const fire = expect.any(Number)
    expect(await d.recorded(id, 'each.opened')).toEqual([{ node: 'l', data: { fire, total: 2, max: 1 } }])
    expect(await d.recorded(id, 'each.closed')).toEqual([
      { node: 'l', data: { fire, total: 2, success: 2, failed: 0 } },
    ])
    const silent = await d.start({ net: net(nodes) })
    await d.work()
    expect(await d.recorded(silent, 'node.routed')).toEqual([])
    expect(await d.recorded(silent, 'node.held')).toEqual([{ node: 'g', data: null }])
    await d.engine.cancelInstance({ id: silent, actor: null })
  })

  it('one that completes in spite of held tokens reports them', async () => {
    const held = (key: string): Node =>
      node(key, [], { admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' } })
    const id = await d.start({
      net: net([node('a', ['h1', 'h2']), held('h1'), held('h2')], { held: 'complete', tells: true }),
    })
    await d.work()
    expect(await d.state(id)).toBe('completed')
    expect(await d.store.read.slots({ instanceId: id, prefix: SLOT.discarded.prefix })).toMatchObject([
      { value: JSON.stringify({ held: 2, nodes: ['h1', 'h2'] }) },
    ])
    expect((await d.recorded(id, 'node.discarded')).map((e) => [e.node, e.data.why ?? e.data])).toEqual([
      ['h1', 'complete'],
      ['h2', 'complete'],
      [null, 2],
    ])
  })
})
