/** Lists with large results: expressions over their counts read no item, and no more is loaded than is safe. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LIST_BYTES } from '../../src/model/queries/firings.ts'
import type { Loaded } from '../../src/model/transaction.ts'
import type { Arc, EachWork, Node } from '../../src/net/net.ts'
import type { Transaction } from '../../src/store/store.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'

const LIST: EachWork = {
  kind: 'each',
  items: 'input.xs',
  body: run('item', { args: { at: '{{ item }}' } }),
  maxInFlight: 2,
  failFast: true,
  collect: 'list',
}
const LONG = 'x'.repeat(1_000_000)
/** The items that end last are not stored yet when the list closes. */
const MANY = Math.ceil(LIST_BYTES / 1_000_000) + 1
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

function list(arcs: readonly Partial<Arc>[]): Node {
  const all = arcs.map((arc): Arc => ({ to: 'z', when: null, args: null, set: null, ...arc }))
  return node('l', [], { work: LIST, next: { mode: 'first', arcs: all, scope: null } })
}

describe.each(PLACES)('long lists on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  /** Counts the transactions that loaded the results of a list. */
  function gathered(): { readonly times: number } {
    const found = { times: 0 }
    const transact = d.store.transact.bind(d.store) as Drive['store']['transact']
    d.store.transact = <T>(transaction: Transaction<T>): Promise<T> =>
      transact({
        ...transaction,
        decide: (loaded: Loaded) => {
          if (loaded.resultsAt.size + loaded.results.size > 0) found.times++
          return transaction.decide(loaded)
        },
      })
    return found
  }

  it.each([
    ['results.l.stats.success == 2', true],
    ['l.stats.success == 2 and l.stats.failed == 0', true],
    ['l.stats.success == 2 and l.results | length == 2', false],
    ['l["stats"].success == 2', true],
    ['l.stats.success == 2 and l is defined', false],
  ])('%s loads no results: %s', async (when, without) => {
    const found = gathered()
    const z = node('z', [], { work: run('z', { args: { n: '{{ l.stats.total }}' } }) })
    const id = await d.start({ net: net([list([{ when }]), z]), input: { xs: [1, 2] } })
    let payload = ''
    await d.work((w) => {
      if (w.node === 'z') payload = w.payload
      return 'done'
    })
    expect(await d.state(id)).toBe('completed')
    expect(JSON.parse(payload)).toEqual({ n: 2 })
    expect(found.times === 0).toBe(without)
  })

  it('a later step reads the counts of a list, and none of its items, each time it is started', async () => {
    const found = gathered()
    const again = { mode: 'first', scope: null, arcs: [{ to: 'z', when: 'z < 4', args: null, set: null }] } as const
    const z = node('z', [], { work: run('z', { args: { n: '{{ l.stats.total }}' } }), next: again })
    const id = await d.start({ net: net([list([{}]), z]), input: { xs: [1, 2] } })
    let turns = 0
    await d.work((w) => (w.node === 'z' ? ++turns : 'done'))
    expect([await d.state(id), turns]).toEqual(['completed', 4])
    expect(found.times).toBe(0)
  })

  it('fails an expression that requires more than can be loaded, and shows everything except the results', async () => {
    const named = { to: 'z', when: 'l.results | length > 0' }
    const quiet = { to: 'z', when: null }
    const nets = [named, quiet].map((arc) => net([list([arc]), node('z')]))
    const ids = await Promise.all(nets.map((n) => d.start({ net: n, input: { xs: numbers(MANY) } })))
    await d.work((w) => (w.node === 'l' ? LONG : null))
    const [first, second] = ids as [string, string]
    expect([await d.state(first), await d.state(second)]).toEqual(['failed', 'completed'])
    const { code, message } = (await d.engine.view(first))?.error ?? {}
    expect(code).toBe('guard_error')
    expect(message).toContain(`the results of 'l' are longer than ${LIST_BYTES} bytes`)
    const stats = { total: MANY, success: MANY, failed: 0 }
    expect((await d.results(second)).l).toEqual({ results: null, results_omitted: expect.any(String), stats })
  })

  it('loads results up to the limit', async () => {
    const id = await d.start({
      net: net([list([{ when: 'l.results | length > 0' }]), node('z')]),
      input: { xs: numbers(MANY - 2) },
    })
    await d.work((w) => (w.node === 'l' ? LONG : null))
    expect(await d.state(id)).toBe('completed')
  })
})
