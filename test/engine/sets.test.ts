/** Context entries that a worker or a node writes, and when the arcs after it see them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { Arc, Node } from '../../src/net/net.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const arc = (to: string, when: string | null, rest: Partial<Arc> = {}): Arc => ({
  to,
  when,
  args: null,
  set: null,
  ...rest,
})
const next = (...arcs: readonly Arc[]): Node['next'] => ({ mode: 'first', arcs, scope: null })
const FINAL = { retryable: false }

describe.each(PLACES)('entries of the context on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('a worker writes them with its outcome, before the arcs are evaluated', async () => {
    const id = await d.start({
      net: net([
        node('a', [], { next: next(arc('yes', 'ctx.more == 2'), arc('no', null)) }),
        node('yes', [], { work: run('yes', { args: { seen: '{{ ctx.more }}' } }) }),
        node('no'),
      ]),
    })
    await d.succeed(await d.claimOne(), null, false, { more: 2 })
    const yes = await d.claimOne()
    expect([yes.node, JSON.parse(yes.payload)]).toEqual(['yes', { seen: 2 }])
    await d.succeed(yes, null, false, { more: null, other: [1] })
    expect(await d.context(id)).toEqual({ other: [1] })
    expect(await d.state(id)).toBe('completed')
  })

  it('those of a failure count as well, and admit held tokens', async () => {
    const id = await d.start({
      net: net(
        [
          node('a', [], { retry: ONCE, onFailure: 'route', next: next(arc('b', 'event.status == "failed"')) }),
          node('b'),
          node('held', [], { admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' } }),
        ],
        { entry: ['a', 'held'] },
      ),
    })
    await d.fail(await d.claimOne(), FINAL, { open: true })
    expect((await d.claim()).map((w) => w.node).sort()).toEqual(['b', 'held'])
    expect(await d.context(id)).toEqual({ open: true })
  })

  it('in a drain they are recorded, and no held token is tried again', async () => {
    const id = await d.start({ net: net([node('a'), node('b', ['c']), node('c')], { entry: ['a', 'b'] }) })
    const [a, b] = await d.claim()
    await d.fail(a as never, FINAL)
    await d.succeed(b as never, null, false, { late: 1 })
    expect([await d.state(id), await d.context(id)]).toEqual(['failed', { late: 1 }])
  })

  it('a guard that cannot be evaluated does not revert them', async () => {
    const id = await d.start({ net: net([node('a', [], { next: next(arc('b', '1 / ctx.zero')) }), node('b')]) })
    await d.succeed(await d.claimOne(), null, false, { zero: 0 })
    expect([await d.state(id), await d.error(id), await d.context(id)]).toEqual(['failed', 'guard_error', { zero: 0 }])
  })

  it('a node writes its own when it has succeeded: run, pass, child, list and gate', async () => {
    const inner = net([node('x')], { name: 'inner' })
    const gate = { kind: 'gate', options: {}, timeoutMs: null, onTimeout: 'reject' } as const
    const id = await d.start({
      net: net([
        node('a', ['p'], { set: { run: '{{ event.result.n }}', both: '{{ ctx.run }}' } }),
        node('p', ['c'], { work: { kind: 'pass' }, set: { pass: '{{ ctx.run + 1 }}' } }),
        node('c', ['l'], {
          work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null },
          set: { child: '{{ event.result.x.n }}' },
        }),
        node('l', ['g'], {
          work: {
            kind: 'each',
            items: '[1, 2]',
            body: run('l', { args: '{{ item }}' }),
            maxInFlight: 1,
            failFast: true,
            collect: 'list',
          },
          set: { list: '{{ event.result.results }}' },
        }),
        node('g', ['z'], { work: gate, set: { gate: '{{ event.result.who }}' } }),
        node('z', [], { work: run('z', { args: { all: '{{ ctx }}' } }) }),
      ]),
      nets: [inner],
    })
    let n = 0
    await d.work(() => ({ n: ++n }))
    const [gateRow] = await d.store.read.openGates({ instanceId: id, limit: 1 })
    const gateId = (gateRow as { id: string }).id
    await d.engine.answerGate({ gateId, approved: true, answer: { who: 'ada' }, actor: 'ada' })
    const last = await d.claimOne()
    expect(JSON.parse(last.payload)).toEqual({
      all: { run: 1, pass: 2, child: 2, list: [{ n: 3 }, { n: 4 }], gate: 'ada' },
    })
    await d.succeed(last)
    expect(await d.state(id)).toBe('completed')
  })

  it('a failed or skipped node writes none', async () => {
    const id = await d.start({
      net: net([node('a', ['b'], { retry: ONCE, onFailure: 'skip', set: { a: 1 } }), node('b', [], { set: { b: 1 } })]),
    })
    await d.fail(await d.claimOne(), FINAL)
    await d.work()
    expect(await d.context(id)).toEqual({ b: 1 })
  })

  it('the result that arcs see is that of the firing that ended', async () => {
    const id = await d.start({
      net: net([
        node('s', ['n', 'n'], { work: { kind: 'pass' } }),
        node('n', [], {
          next: next(arc('m', null, { args: { got: '{{ event.result }}' } })),
        }),
        node('m'),
      ]),
    })
    const [first, second] = await d.claim()
    await d.succeed(second as never, 'second')
    await d.succeed(first as never, 'first')
    const given = (await d.claim()).map((w) => JSON.parse(w.payload))
    expect(given).toEqual([{ got: 'second' }, { got: 'first' }])
    // By name, the latest firing.
    expect(await d.results(id)).toMatchObject({ n: 'second' })
  })
})
