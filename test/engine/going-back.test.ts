/** A retry from a chosen step, and a fork: what is done again, what is carried over, and what is refused. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { RepeatAsked } from '../../src/model/queries/repeats.ts'
import type { Arc, EachWork, Json, Net, Node } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'

const FINAL = { retryable: false }
const BROKEN = new Error('broken')
const arc = (to: string, when: string | null = null, rest: Partial<Arc> = {}): Arc => {
  return { to, when, args: null, set: null, ...rest }
}
const of = (key: string, args: Json): Pick<Node, 'work'> => ({ work: run(key, { args }) })

describe.each(PLACES)('going back on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const given = (w: Delivery): any => JSON.parse(w.payload)
  const again = async (id: string, asked: Omit<RepeatAsked, 'id'> = {}): Promise<string> =>
    (await d.engine.retryInstance({ id, actor: 'ann', ...asked })).id
  const refused = (id: string, asked: Omit<RepeatAsked, 'id'>) =>
    expect(d.engine.retryInstance({ id, actor: null, ...asked }).then(() => 'started')).rejects
  const preview = async (id: string, asked: Omit<RepeatAsked, 'id'> = {}) => {
    const found = await d.engine.previewRetry({ id, limit: 100, ...asked })
    const lines = (all: readonly { readonly step: string; readonly count: number }[]): string[] =>
      all.map((line) => `${line.step} ${line.count}${'why' in line ? ` ${line.why}` : ''}`)
    return { again: lines(found.again).sort(), carried: lines(found.carried).sort() }
  }
  const count = async (): Promise<number> =>
    [...(await d.store.read.countInstances()).values()].reduce((a, b) => a + b, 0)

  const diamond: Net = net([
    node('a', ['b', 'c']),
    node('b', ['d'], of('b', { a: '{{ a }}' })),
    node('c', ['d'], of('c', { a: '{{ a }}' })),
    node('d', ['e'], { join: 'count', ...of('d', { b: '{{ b }}', c: '{{ c }}' }) }),
    node('e', [], { retry: ONCE }),
  ])

  it('the chosen step and what follows is done again, a parallel branch is kept, and the step gets the arguments', async () => {
    const id = await d.start({ net: diamond })
    await d.work((w) => (w.node === 'e' ? BROKEN : `${w.node} 1`))
    const from = { step: 'b' }
    expect(await preview(id, { from })).toEqual({
      again: ['b 1 chosen', 'd 1 follows', 'e 1 follows'],
      carried: ['a 1', 'c 1'],
    })
    const second = await again(id, { from, args: { a: 'other' } })
    const seen: Record<string, Json> = {}
    const done = await d.work((w) => {
      seen[w.node as string] = given(w)
      return `${w.node} 2`
    })
    expect(done).toEqual(['b', 'd', 'e'])
    expect(seen).toMatchObject({ b: { a: 'other' }, d: { b: 'b 2', c: 'c 1' } })
    expect(await d.state(second)).toBe('completed')
    expect(await d.results(second)).toEqual({ a: 'a 1', b: 'b 2', c: 'c 1', d: 'd 2', e: 'e 2' })
    const data = (await d.recorded(second, 'instance.retries'))[0]?.data
    expect(data).toMatchObject({ retry_of: id, actor: 'ann', from: { step: 'b' }, args_edited: { keys: ['a'] } })
    expect(data.args_edited.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(JSON.stringify(data)).not.toContain('other')
  })

  it('a patch is merged into the arguments of before', async () => {
    const id = await d.start({
      net: net([node('a', [], { retry: ONCE, ...of('a', { keep: 1, drop: 2, deep: { x: 1, y: 2 } }) })]),
    })
    await d.fail(await d.claimOne(), FINAL)
    await again(id, { from: { step: 'a' }, patch: { drop: null, deep: { y: 3 }, more: [1] } })
    expect(given(await d.claimOne())).toEqual({ keep: 1, deep: { x: 1, y: 3 }, more: [1] })
  })

  it('an edit is kept when the step fails again and its instance is retried', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b', [], { retry: ONCE, ...of('b', { n: 1 }) })]) })
    await d.work((w) => (w.node === 'b' ? BROKEN : null))
    const second = await again(id, { from: { step: 'b' }, args: { n: 2 } })
    await d.fail(await d.claimOne(), FINAL)
    const third = await again(second)
    const b = await d.claimOne()
    expect([b.node, given(b)]).toEqual(['b', { n: 2 }])
    await d.succeed(b)
    expect(await d.state(third)).toBe('completed')
  })

  describe('in a loop', () => {
    const routes = { retry: ONCE, onFailure: 'route' } as const
    const pages: Net = net([
      node('fetch', ['save'], { ...routes, ...of('fetch', { page: '{{ ctx.page or 1 }}' }) }),
      node('save', [], {
        ...routes,
        ...of('save', { rows: '{{ fetch.rows }}' }),
        next: {
          mode: 'first',
          scope: null,
          arcs: [arc('fetch', 'event.ok and ctx.page <= 3'), arc('done', 'event.ok')],
        },
      }),
      node('done', [], of('done', { last: '{{ fetch.rows }}' })),
    ])
    const turn = async (broken: string | null = null): Promise<string[]> => {
      const done: string[] = []
      for (;;) {
        const [w] = await d.claim(1)
        if (w === undefined) return done
        const about = given(w)
        const what = `${w.node} ${about.page ?? about.rows ?? about.last}`
        done.push(what)
        if (what === broken) await d.fail(w, FINAL)
        else if (w.node === 'fetch')
          await d.succeed(w, { rows: `rows ${about.page}` }, false, { page: Number(about.page) + 1 })
        else await d.succeed(w, what)
      }
    }

    it('a firing of a step is done again with all that came after it; earlier rounds are kept', async () => {
      const id = await d.start({ net: pages })
      await turn('done rows 3')
      const from = { step: 'save', firing: 2 }
      expect(await preview(id, { from })).toEqual({
        again: ['done 1 follows', 'fetch 1 follows', 'save 1 chosen', 'save 1 follows'],
        carried: ['fetch 2', 'save 1'],
      })
      const second = await again(id, { from, args: { rows: 'edited' } })
      expect(await turn()).toEqual(['save edited', 'fetch 3', 'save rows 3', 'done rows 3'])
      expect(await d.state(second)).toBe('completed')
    })

    it('without a firing it is the last; a retry of that one takes everything over', async () => {
      const id = await d.start({ net: pages })
      await turn('done rows 3')
      const second = await again(id, { from: { step: 'fetch' } })
      expect(await turn('done rows 3')).toEqual(['fetch 3', 'save rows 3', 'done rows 3'])
      await again(second)
      expect(await turn()).toEqual(['done rows 3'])
    })

    it('a firing that there was not is refused', async () => {
      const id = await d.start({ net: pages })
      await turn('save rows 2')
      await refused(id, { from: { step: 'save', firing: 3 } }).toMatchObject({
        code: 'invalid_request',
        message: "from.firing: step 'save' has begun 2 times",
        details: { hint: 'Name a firing from 1 to 2.' },
      })
      await refused(id, { from: { step: 'done' } }).toMatchObject({ code: 'conflict' })
    })
  })

  describe('in a list', () => {
    const work: EachWork = {
      kind: 'each',
      items: '[10, 20, 30]',
      body: run('item', { args: { n: '{{ item }}' } }),
      maxInFlight: null,
      failFast: false,
      collect: 'list',
    }
    const lists: Net = net([
      node('a', ['l']),
      node('l', ['z'], { work, retry: ONCE }),
      node('z', [], { retry: ONCE, ...of('z', { all: '{{ l.results }}' }) }),
    ])

    it('one item is done again, the others are kept, and what follows the list is done again', async () => {
      const id = await d.start({ net: lists })
      await d.work((w) => (w.node === 'z' ? BROKEN : w.node === 'l' ? given(w).n : null))
      const from = { step: 'l', item: 1 }
      expect(await preview(id, { from })).toEqual({ again: ['l 1 chosen', 'z 1 follows'], carried: ['a 1', 'l 2'] })
      const second = await again(id, { from, args: { n: 21 } })
      const [item] = await d.claim()
      expect([item?.item, given(item as Delivery)]).toEqual([1, { n: 21 }])
      await d.succeed(item as Delivery, 21)
      expect(given((await d.claim())[0] as Delivery)).toEqual({ all: [10, 21, 30] })
      expect(await d.state(second)).toBe('running')
    })

    it('the whole list is done again without an item; arguments then belong to none', async () => {
      const id = await d.start({ net: lists })
      await d.work((w) => (w.node === 'z' ? BROKEN : null))
      await refused(id, { from: { step: 'l' }, args: { n: 1 } }).toMatchObject({ code: 'invalid_request' })
      await refused(id, { from: { step: 'l', item: 3 } }).toMatchObject({ code: 'invalid_request' })
      await refused(id, { from: { step: 'a', item: 0 } }).toMatchObject({ code: 'invalid_request' })
      await again(id, { from: { step: 'l' } })
      expect((await d.claim()).map((w) => w.item)).toEqual([0, 1, 2])
    })
  })

  describe('in a nested workflow', () => {
    const inner = net([node('x', ['y']), node('y', [], of('y', { x: '{{ x }}' }))], { name: 'inner' })
    const child = { kind: 'child', net: netHash(inner), mode: 'attached', input: { n: 1 } } as const
    const outer = net([node('p', ['q']), node('q', ['r'], { work: child }), node('r', [], { retry: ONCE })], {
      name: 'outer',
    })
    const failing = async (): Promise<string> => {
      const id = await d.start({ net: outer, nets: [inner] })
      await d.work((w) => (w.node === 'r' ? BROKEN : `${w.node} 1`))
      return id
    }
    const nested = async (id: string) => (await d.store.read.children(id))[0]?.id as string

    it('a step inside is done again with the rest of it, and what follows outside', async () => {
      const id = await failing()
      const from = { step: 'y' }
      expect(await preview(await nested(id), { from })).toEqual({
        again: ['q 1 contains_chosen', 'r 1 follows', 'y 1 chosen'],
        carried: ['p 1', 'x 1'],
      })
      const second = await again(await nested(id), { from, args: { x: 'edited' } })
      expect((await d.store.read.instance(second))?.retryOf).toBe(id)
      const y = await d.claimOne()
      expect([y.node, given(y)]).toEqual(['y', { x: 'edited' }])
      await d.succeed(y, 'y 2')
      expect(await d.work()).toEqual(['r'])
      expect(await d.state(second)).toBe('completed')
    })

    it('the step that contains it is done again as a whole, with another input', async () => {
      const id = await failing()
      const second = await again(id, { from: { step: 'q' }, args: { n: 2 } })
      expect(await d.work((w) => (w.node === 'y' ? BROKEN : null))).toEqual(['x', 'y'])
      const input = await d.store.read.slots({ instanceId: await nested(second), prefix: 'in' as never })
      expect(input.map(({ value }) => value)).toEqual(['{"n":2}'])
      // The edit outlives another failure.
      const third = await again(second)
      const kept = await d.store.read.slots({ instanceId: await nested(third), prefix: 'in' as never })
      expect(kept.map(({ value }) => value)).toEqual(['{"n":2}'])
      expect(await d.work()).toEqual(['y', 'r'])
    })

    it('a completed one stays carried over in a retry of the retry', async () => {
      const id = await failing()
      const second = await again(id)
      expect(await d.work(() => BROKEN)).toEqual(['r'])
      expect(await preview(second)).toEqual({ again: ['r 1 unfinished'], carried: ['p 1', 'q 1'] })
      await again(second)
      expect(await d.work()).toEqual(['r'])
    })

    it('without a step, the root is what is retried', async () => {
      const id = await failing()
      await refused(await nested(id), {}).toMatchObject({ code: 'conflict', details: { root: id } })
    })
  })

  describe('a fork', () => {
    const order: Net = net(
      [
        node('a', ['b'], { undo: undoBy('undo a') }),
        node('b', ['c'], { undo: undoBy('undo b') }),
        node('c', [], { retry: ONCE }),
      ],
      {
        onFailure: 'compensate',
      },
    )

    it('of a completed instance begins at a step, and never undoes what the original did', async () => {
      const id = await d.start({ net: order })
      await d.work((w) => `${w.node} 1`)
      const fork = await again(id, { fork: true, from: { step: 'b' } })
      const done = await d.work((w) => (w.node === 'c' ? BROKEN : null))
      expect(done).toEqual(['b', 'c', 'undo b'])
      expect([await d.state(fork), await d.state(id)]).toEqual(['compensated', 'completed'])
      // Its own retry repeats only what it undid itself.
      await again(fork)
      expect(await d.work((w) => (w.node === 'c' ? BROKEN : null))).toEqual(['b', 'c', 'undo b'])
      const data = (await d.recorded(fork, 'instance.forks'))[0]?.data
      expect(data).toMatchObject({ fork_of: id, actor: 'ann', from: { step: 'b' } })
    })

    it('without a step begins at the beginning, with the same input or another', async () => {
      const id = await d.start({ net: order, input: { n: 1 } })
      await d.work()
      expect(await preview(id, { fork: true })).toEqual({
        again: ['a 1 beginning', 'b 1 beginning', 'c 1 beginning'],
        carried: [],
      })
      await again(id, { fork: true, input: { n: 2 } })
      expect(await d.work()).toEqual(['a', 'b', 'c'])
    })

    it('of a running instance is refused, and a retry of a completed one says what is right', async () => {
      const id = await d.start({ net: order })
      await refused(id, { fork: true }).toMatchObject({ code: 'conflict', details: { state: 'running' } })
      await d.work()
      await refused(id, { from: { step: 'b' } }).toMatchObject({
        code: 'conflict',
        details: { state: 'completed', hint: expect.stringContaining(`/v1/instances/${id}/fork`) },
      })
    })
  })

  describe('work with an undo', () => {
    const booking = (onFailure: Net['onFailure']): Net =>
      net([node('hotel', ['car'], { undo: undoBy('cancel hotel') }), node('car', [], { retry: ONCE })], { onFailure })

    it('that stands is not done twice by a retry; a fork may', async () => {
      const id = await d.start({ net: booking('abort') })
      await d.work((w) => (w.node === 'car' ? BROKEN : null))
      const before = await count()
      await refused(id, { from: { step: 'hotel' } }).toMatchObject({
        code: 'conflict',
        details: { not_undone: ['hotel'], hint: expect.stringContaining('ork it') },
      })
      expect(await count()).toBe(before)
      await again(id, { fork: true, from: { step: 'hotel' } })
      expect(await d.work()).toEqual(['hotel', 'car'])
    })

    it('also inside of a nested workflow that did not complete', async () => {
      const trip = net([node('hotel', ['car'], { undo: undoBy('cancel hotel') }), node('car', [], { retry: ONCE })], {
        name: 'trip',
      })
      const child = { kind: 'child', net: netHash(trip), mode: 'attached', input: null } as const
      const flow = net([node('ask', ['trip']), node('trip', [], { work: child })])
      const id = await d.start({ net: flow, nets: [trip] })
      await d.work((w) => (w.node === 'car' ? BROKEN : null))
      await refused(id, { from: { step: 'ask' } }).toMatchObject({
        code: 'conflict',
        details: { not_undone: ['trip'] },
      })
      await refused(id, { from: { step: 'trip' } }).toMatchObject({
        code: 'conflict',
        details: { not_undone: ['trip'] },
      })
      const nested = (await d.store.read.children(id))[0]?.id as string
      await again(nested, { from: { step: 'car' } })
      expect(await d.work()).toEqual(['car'])
    })

    it('that was undone is done again', async () => {
      const id = await d.start({ net: booking('compensate') })
      await d.work((w) => (w.node === 'car' ? BROKEN : null))
      expect(await d.state(id)).toBe('compensated')
      expect(await preview(id, { from: { step: 'car' } })).toEqual({
        again: ['car 1 chosen', 'hotel 1 undone'],
        carried: [],
      })
      await again(id, { from: { step: 'hotel' } })
      expect(await d.work()).toEqual(['hotel', 'car'])
    })
  })

  describe('refused, and nothing is started', () => {
    const schema = { input: { path: [], schema: { type: 'object', required: ['n'] } }, output: null } as const
    const flow: Net = net(
      [
        node('ask', ['charge'], { work: { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' } }),
        node('charge', ['split'], { schema, ...of('charge', { n: 1 }) }),
        node('split', ['ship'], { work: { kind: 'pass' } }),
        node('ship', [], { retry: ONCE }),
        node('last'),
      ],
      { finals: [{ node: 'last', when: 'always', onFailure: 'fail' }] },
    )
    const failing = async (): Promise<string> => {
      const id = await d.start({ net: flow })
      const [gate] = await d.store.read.openGates({ instanceId: id, limit: 1 })
      await d.engine.answerGate({ gateId: gate?.id as string, approved: true, actor: 'ann' })
      await d.work((w) => (w.node === 'ship' ? BROKEN : null))
      expect(await d.state(id)).toBe('failed')
      return id
    }

    it.each([
      [{ from: { step: 'chrage' } }, 'invalid_request', "did you mean 'charge'?"],
      [{ from: { step: 'split' } }, 'conflict', 'does no work'],
      [{ from: { step: 'last' } }, 'conflict', 'belongs to the end'],
      [{ from: { step: 'charge' }, args: { m: 1 } }, 'schema_validation', 'does not fit its schema'],
      [{ from: { step: 'charge' }, args: [1] }, 'invalid_request', 'must be an object'],
      [{ from: { step: 'charge' }, args: {}, patch: {} }, 'invalid_request', 'not together'],
      [{ from: { step: 'charge' }, args: { n: 'a\u0000' } }, 'unstorable', 'args'],
      [{ from: { step: 'ask' }, args: {} }, 'invalid_request', 'is a gate'],
      [{ args: {} }, 'invalid_request', 'without from'],
    ] as const)('%j', async (asked, code, message) => {
      const id = await failing()
      const before = await count()
      await refused(id, asked as never).toMatchObject({ code, message: expect.stringContaining(message) })
      await expect(d.engine.previewRetry({ id, ...(asked as object) })).rejects.toMatchObject({ code })
      expect(await count()).toBe(before)
    })

    it('a gate is asked again, and what follows it is done again', async () => {
      const id = await failing()
      expect(await preview(id, { from: { step: 'ask' } })).toEqual({
        again: ['ask 1 asked_again', 'charge 1 follows', 'ship 1 follows'],
        carried: [],
      })
      const second = await again(id, { from: { step: 'ask' } })
      expect(await d.state(second)).toBe('waiting')
    })
  })

  it('a preview has pages, each of so many steps', async () => {
    const nodes = Array.from({ length: 7 }, (_, i) => node(`s${i}`, i < 6 ? [`s${i + 1}`] : [], { retry: ONCE }))
    const id = await d.start({ net: net(nodes) })
    await d.work((w) => (w.node === 's6' ? BROKEN : null))
    const seen: string[] = []
    let after: string | null = null
    let pages = 0
    do {
      const page: Awaited<ReturnType<typeof d.engine.previewRetry>> = await d.engine.previewRetry({
        id,
        from: { step: 's4' },
        limit: 3,
        after,
      })
      seen.push(...page.carried.map(({ step }) => step), ...page.again.map(({ step }) => `${step}!`))
      after = page.next
      pages++
    } while (after !== null)
    expect([pages, seen.sort()]).toEqual([3, ['s0', 's1', 's2', 's3', 's4!', 's5!', 's6!']])
    await expect(d.engine.previewRetry({ id, after: 'nowhere' })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('a detached workflow is started again only if its place is done again', async () => {
    const side = net([node('side')], { name: 'side' })
    const child = { kind: 'child', net: netHash(side), mode: 'detached', input: null } as const
    const flow = net([node('a', ['b']), node('b', ['c'], { work: child }), node('c', [], { retry: ONCE })])
    const id = await d.start({ net: flow, nets: [side] })
    await d.work((w) => (w.node === 'c' ? BROKEN : null))
    await again(id, { from: { step: 'c' } })
    expect(await d.work(() => BROKEN)).toEqual(['c'])
    await again(id, { from: { step: 'a' } })
    expect((await d.work()).sort()).toEqual(['a', 'c', 'side'])
  })
})
