/** A retry of an instance whose nodes fire repeatedly: each firing keeps the work of the same firing before. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { Arc, EachWork, Json, Net, Node } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const arc = (to: string, when: string | null = null, rest: Partial<Arc> = {}): Arc => {
  return { to, when, args: null, set: null, ...rest }
}
const next = (...arcs: readonly Arc[]): Node['next'] => ({ mode: 'first', arcs, scope: null })
const FINAL = { retryable: false }
const routes = { retry: ONCE, onFailure: 'route' } as const

describe.each(PLACES)('a retry of a workflow with cycles on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const given = (w: Delivery): any => JSON.parse(w.payload)
  const again = async (id: string): Promise<string> => (await d.engine.retryInstance({ id, actor: null })).id

  /** Fetches page after page, saves each. The worker sets the next page in the context. */
  const pages: Net = net([
    node('fetch', ['save'], { ...routes, work: run('fetch', { args: { page: '{{ ctx.page or 1 }}' } }) }),
    node('save', [], {
      ...routes,
      work: run('save', { args: { rows: '{{ fetch.rows }}' } }),
      next: next(arc('fetch', 'event.ok and ctx.page <= 3'), arc('done', 'event.ok')),
    }),
    node('done', [], { work: run('done', { args: { last: '{{ fetch.rows }}', page: '{{ ctx.page }}' } }) }),
  ])

  /** `until`: saving this page fails. */
  async function turn(until: number | null): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const batch = await d.claim()
      if (batch.length === 0) return done
      for (const w of batch) {
        const about = given(w)
        done.push(`${w.node} ${about.page ?? about.rows}`)
        if (w.node === 'fetch') {
          await d.succeed(w, { rows: `rows ${about.page}` }, false, { page: about.page + 1 })
        } else if (w.node === 'save' && about.rows === `rows ${until}`) await d.fail(w, FINAL)
        else await d.succeed(w, `saved ${about.rows}`)
      }
    }
  }

  it('continues at the round that failed, with the results and the context of the earlier rounds', async () => {
    const id = await d.start({ net: pages })
    expect(await turn(3)).toEqual(['fetch 1', 'save rows 1', 'fetch 2', 'save rows 2', 'fetch 3', 'save rows 3'])
    expect(await d.state(id)).toBe('failed')
    const second = await again(id)
    expect(await turn(null)).toEqual(['save rows 3', 'done 4'])
    expect(await d.state(second)).toBe('completed')
    expect(await d.results(second)).toMatchObject({ fetch: { rows: 'rows 3' }, save: 'saved rows 3' })
  })

  it('after a failure in an earlier round it repeats nothing of that round, and a retry of the retry continues as well', async () => {
    const id = await d.start({ net: pages })
    await turn(2)
    const second = await again(id)
    expect(await turn(3)).toEqual(['save rows 2', 'fetch 3', 'save rows 3'])
    const third = await again(second)
    expect(await turn(null)).toEqual(['save rows 3', 'done 4'])
    expect(await d.state(third)).toBe('completed')
  })

  it('with another input, work with different arguments is repeated', async () => {
    const asks: Net = net([
      node('a', ['b'], { ...routes, work: run('a', { args: { q: '{{ input.q }}' } }) }),
      node('b', [], { ...routes, next: next(arc('a', 'event.ok and not ctx.twice', { set: { twice: true } })) }),
    ])
    const id = await d.start({ net: asks, input: { q: 1 } })
    await d.succeed(await d.claimOne(), 'a')
    await d.fail(await d.claimOne(), FINAL)
    const other = await d.engine.retryInstance({ id, actor: null, input: { q: 2 } })
    const [w] = await d.claim()
    expect([w?.node, given(w as Delivery)]).toEqual(['a', { q: 2 }])
    await d.succeed(w as never)
    await d.work()
    expect(await d.state(other.id)).toBe('completed')
  })

  it('arguments that contain the id of the instance, or are stored separately, still count as the same', async () => {
    const text = 'x'.repeat(300)
    const done = "event.name == 'step.done' and not ctx.twice"
    const big: Net = net(
      [
        node('a', ['a2'], {
          ...routes,
          work: run('a', { args: { text: '{{ workload.text }}', id: 'of {{ execution_id }}' } }),
        }),
        node('a2', ['b'], routes),
        node('b', [], { ...routes, next: next(arc('a', done, { set: { twice: true } })) }),
      ],
      { inlineBytes: 100, dialect: 'playbook' },
    )
    const id = await d.start({ net: big, input: { text } })
    await d.succeed(await d.claimOne(), 'A')
    await d.succeed(await d.claimOne(), 'A2')
    await d.fail(await d.claimOne(), FINAL)
    await again(id)
    expect((await d.claimOne()).node).toBe('b')
  })

  it('two tokens at one node each keep their own arguments', async () => {
    const fan: Net = net([
      node('s', [], {
        work: { kind: 'pass' },
        next: {
          mode: 'every',
          scope: null,
          arcs: [arc('n', null, { args: { k: 1 } }), arc('n', null, { args: { k: 2 } })],
        },
      }),
      node('n', [], { ...routes, next: next(arc('m', 'event.ok', { args: { of: '{{ event.result }}' } })) }),
      node('m', [], routes),
    ])
    const id = await d.start({ net: fan })
    for (const w of await d.claim()) await d.succeed(w, `n ${given(w).k}`)
    const [m1, m2] = await d.claim()
    await d.fail(m1 as never, FINAL)
    await d.succeed(m2 as never)
    const second = await again(id)
    const left = await d.claim()
    expect(left.map(given)).toEqual([{ of: 'n 1' }])
    await d.succeed(left[0] as never)
    expect(await d.state(second)).toBe('completed')
  })

  it('a list that fires again carries over item by item, round by round', async () => {
    const work: EachWork = {
      kind: 'each',
      items: '[1, 2, 3]',
      body: run('item', { args: { n: '{{ item }}', round: '{{ ctx.round or 0 }}' } }),
      maxInFlight: 2,
      failFast: false,
      collect: 'list',
      shared: { all: '{{ input.x }}' },
    }
    const rounds: Net = net([
      node('l', [], {
        ...routes,
        work,
        next: next(arc('l', 'event.ok and not ctx.round', { set: { round: 1 } }), arc('z', 'event.ok')),
      }),
      node('z', [], { work: run('z', { args: '{{ l }}' }) }),
    ])
    const id = await d.start({ net: rounds, input: { x: 'y' } })
    await d.work((w) => {
      const { n, round } = given(w)
      return round === 1 && n === 2 ? new Error('item') : `${round}/${n}`
    })
    expect(await d.state(id)).toBe('failed')
    const second = await again(id)
    const done: string[] = []
    await d.work((w) => {
      const { n, round } = given(w)
      done.push(w.node === 'z' ? 'z' : `${round}/${n}`)
      return w.node === 'z' ? null : `again ${round}/${n}`
    })
    expect(done).toEqual(['1/2', 'z'])
    expect((await d.results(second)).l).toEqual({
      results: ['1/1', 'again 1/2', '1/3'],
      stats: { total: 3, success: 3, failed: 0 },
    })
  })

  it('children are carried over by their round too', async () => {
    const inner = net([node('x', [], { retry: ONCE })], { name: 'inner' })
    const outer: Net = net([
      node('sub', [], {
        ...routes,
        work: { kind: 'child', net: netHash(inner), mode: 'attached', input: { n: '{{ ctx.n or 0 }}' } },
        next: next(arc('sub', 'event.ok and (ctx.n or 0) < 2', { set: { n: '{{ (ctx.n or 0) + 1 }}' } }), arc('z')),
      }),
      node('z', [], { ...routes, work: run('z', { args: '{{ sub.x }}' }) }),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    let n = 0
    await d.work((w) => (w.node === 'z' ? new Error('z') : `x${n++}`))
    expect([await d.state(id), n]).toEqual(['failed', 3])
    const second = await again(id)
    const z = await d.claimOne()
    expect([z.node, given(z)]).toEqual(['z', 'x2'])
    await d.succeed(z)
    expect([await d.state(second), (await d.store.read.children(second)).length]).toEqual(['completed', 0])
  })

  it('detached children are not started again, round by round', async () => {
    const inner = net([node('x')], { name: 'inner' })
    const outer: Net = net([
      node('go', ['a'], {
        work: { kind: 'child', net: netHash(inner), mode: 'detached', input: { n: '{{ ctx.n or 0 }}' } },
      }),
      node('a', [], {
        ...routes,
        work: run('a', { args: { child: '{{ go.execution_id }}' } }),
        next: next(arc('go', 'event.ok and (ctx.n or 0) < 2', { set: { n: '{{ (ctx.n or 0) + 1 }}' } })),
      }),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    const children: string[] = []
    const turn = async (failing: number | null): Promise<string[]> => {
      const done: string[] = []
      for (let batch = await d.claim(); batch.length > 0; batch = await d.claim()) {
        for (const w of batch) {
          if (w.node === 'x') {
            children.push(w.instanceId as string)
            await d.succeed(w)
            continue
          }
          done.push(given(w).child)
          if (done.length === failing) await d.fail(w, FINAL)
          else await d.succeed(w, `a ${done.length}`)
        }
      }
      return done
    }
    const first = await turn(2)
    expect([await d.state(id), first]).toEqual(['failed', children])
    const second = await again(id)
    const left = await turn(null)
    // The second round is repeated with the child it had; only the third starts another one.
    expect(left).toEqual([first[1], children[2]])
    expect([await d.state(second), children.length]).toEqual(['completed', 3])
  })

  it('a cycle through fork and join continues in the branch that failed', async () => {
    const both = { mode: 'every', scope: 'j', arcs: [arc('a'), arc('b')] } as const
    const branch = (key: string): Node =>
      node(key, [], {
        ...routes,
        work: run(key, { args: { round: '{{ ctx.round or 0 }}' } }),
        next: next(arc('j', 'event.ok')),
      })
    const circle: Net = net([
      node('f', [], { work: { kind: 'pass' }, next: both }),
      branch('a'),
      branch('b'),
      node('j', [], {
        join: 'scope',
        work: run('j', { args: { a: '{{ a }}', b: '{{ b }}' } }),
        next: next(arc('f', 'not ctx.round', { set: { round: 1 } })),
      }),
    ])
    const id = await d.start({ net: circle })
    const name = (w: Delivery): string => (w.node === 'j' ? 'j' : `${w.node} ${given(w).round}`)
    await d.work((w) => (name(w) === 'b 1' ? new Error('b') : name(w)))
    expect(await d.state(id)).toBe('failed')
    const second = await again(id)
    const done: string[] = []
    await d.work((w) => {
      done.push(name(w))
      return `again ${name(w)}`
    })
    // The join had continued with the one branch that arrived: with both it has different arguments.
    expect(done).toEqual(['b 1', 'j'])
    expect(await d.state(second)).toBe('completed')
    expect(await d.results(second)).toMatchObject({ a: 'a 1', b: 'again b 1', j: 'again j' })
  })

  it('a list that stopped at its first failure issues only the remaining items', async () => {
    const work: EachWork = {
      kind: 'each',
      items: 'range(6) | list',
      body: run('item', { args: { n: '{{ item }}', lang: '{{ input.lang }}' } }),
      maxInFlight: 1,
      failFast: true,
      collect: 'list',
      shared: { text: '{{ input.text }}' },
    }
    const stopping: Net = net([node('l', [], { ...routes, work, next: next(arc('l', 'ctx.never')) })])
    const input = { text: 'x'.repeat(100), lang: 'en' }
    const id = await d.start({ net: stopping, input })
    const seen: number[] = []
    const turn = (failing: number | null) =>
      d.work((w) => {
        seen.push(given(w).n)
        return given(w).n === failing ? new Error('item') : given(w).n * 10
      })
    await turn(2)
    const second = await again(id)
    await turn(null)
    expect([await d.state(second), seen.splice(0)]).toEqual(['completed', [0, 1, 2, 2, 3, 4, 5]])
    expect((await d.results(second)).l).toMatchObject({ results: [0, 10, 20, 30, 40, 50] })
    // The arguments shared by all items have changed, so all of them are repeated.
    const other = await d.engine.retryInstance({ id, actor: null, input: { ...input, text: 'other' } })
    await turn(null)
    expect([await d.state(other.id), seen]).toEqual(['completed', [0, 1, 2, 3, 4, 5]])
  })

  it('items that are nested workflows are carried over if they completed, and continued if they failed', async () => {
    const inner = net([node('x', ['y'], { retry: ONCE }), node('y', [], { retry: ONCE })], { name: 'inner' })
    const body = { kind: 'child', net: netHash(inner), mode: 'attached', input: { n: '{{ item }}' } } as const
    const work: EachWork = {
      kind: 'each',
      items: '[1, 2, 3]',
      body,
      maxInFlight: null,
      failFast: false,
      collect: 'list',
    }
    const outer: Net = net([node('l', [], { ...routes, work, next: next(arc('l', 'ctx.never')) })])
    const id = await d.start({ net: outer, nets: [inner] })
    let ys = 0
    await d.work((w) => (w.node === 'y' && ++ys === 2 ? new Error('y') : w.node))
    expect(await d.state(id)).toBe('failed')
    const second = await again(id)
    expect(await d.work((w) => `again ${w.node}`)).toEqual(['y'])
    expect(await d.state(second)).toBe('completed')
    const { l } = (await d.results(second)) as { readonly l: { readonly results: readonly Json[] } }
    const results = [...l.results].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    expect(results).toEqual([
      { x: 'x', y: 'again y' },
      { x: 'x', y: 'y' },
      { x: 'x', y: 'y' },
    ])
  })

  it('context entries written by workers are carried over where every node fires once, too', async () => {
    const chain: Net = net([
      node('a', ['b']),
      node('b', [], { retry: ONCE, work: run('b', { args: { page: '{{ ctx.page }}' } }) }),
    ])
    const id = await d.start({ net: chain })
    await d.succeed(await d.claimOne(), null, false, { page: 7 })
    await d.fail(await d.claimOne(), FINAL)
    await again(id)
    const b = await d.claimOne()
    expect([b.node, given(b)]).toEqual(['b', { page: 7 }])
  })
})
