/** Values used by a template are loaded before it is rendered, however much that is. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { Arc } from '../../src/net/net.ts'
import type { Transaction } from '../../src/store/store.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

describe.each(PLACES)('facts of templates on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('names the results of a nested workflow', async () => {
    const inner = net([node('x', ['y']), node('y')], { name: 'inner' })
    const outer = net([
      node('sub', ['z'], { work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null } }),
      node('z', [], { work: run('z', { args: { before: '{{ results.sub.y }}' } }) }),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    const seen: string[] = []
    await d.work((w) => {
      seen.push(w.payload)
      return { by: w.node }
    })
    expect([await d.state(id), await d.error(id)]).toEqual(['completed', null])
    expect(JSON.parse(seen.at(-1) as string)).toEqual({ before: { by: 'y' } })
  })

  it('requests all the results of a wide join at once', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `n${i}`)
    const args = Object.fromEntries(names.map((name) => [name, `{{ results.${name} }}`]))
    const join = node('join', [], { join: 'count', work: run('join', { args }) })
    const id = await d.start({ net: net([...names.map((name) => node(name, ['join'])), join], { entry: names }) })
    const parts = await d.claim()
    for (const part of parts.slice(1)) await d.succeed(part, part.node)
    let rounds = 0
    const transact = d.store.transact.bind(d.store)
    d.store.transact = <T>(params: Transaction<T>): Promise<T> => {
      const decide: typeof params.decide = (loaded) => {
        rounds++
        return params.decide(loaded)
      }
      return transact({ ...params, decide })
    }
    await d.succeed(parts[0] as (typeof parts)[number], parts[0]?.node ?? null)
    expect(rounds).toBeLessThan(8)
    const joined = await d.claimOne()
    expect(JSON.parse(joined.payload)).toEqual(Object.fromEntries(names.map((name) => [name, name])))
    await d.succeed(joined)
    expect(await d.state(id)).toBe('completed')
  })

  it('the work after a firing uses the result of that firing, even if a later firing ended before it or with it', async () => {
    const arc = (to: string, args: Arc['args'] = null): Arc => ({ to, when: null, args, set: null })
    const both = { mode: 'every', scope: null, arcs: [arc('n', { k: 1 }), arc('n', { k: 2 })] } as const
    const whole = net([
      node('s', [], { work: { kind: 'pass' }, next: both }),
      node('n', ['m'], {}),
      node('m', [], { work: run('m', { args: { of: '{{ n }}' } }) }),
    ])
    for (const together of [true, false]) {
      await d.start({ net: whole })
      const [first, second] = (await d.claim()) as unknown as readonly [Delivery, Delivery]
      const end = (w: Delivery) => d.succeed(w, `n ${JSON.parse(w.payload).k}`)
      if (together) await Promise.all([end(second), end(first)])
      else for (const w of [second, first]) await end(w)
      const given = (await d.claim()).map((w) => JSON.parse(w.payload))
      expect(given).toHaveLength(2)
      expect(given).toEqual(expect.arrayContaining([{ of: 'n 1' }, { of: 'n 2' }]))
      await d.engine.cancelInstance({ id: first.instanceId as string, actor: null })
    }
  })

  it('an error without a category counts as the agent’s own where categories matter', async () => {
    const retry = { ...ONCE, maxAttempts: 3 }
    const tried = async (retryOn: readonly string[]): Promise<number> => {
      const id = await d.start({ net: net([node('a', [], { retry: { ...retry, retryOn } })]) })
      let executions = 0
      for (let one = await d.claim(1); one.length > 0; one = await d.claim(1)) {
        executions++
        await d.fail(one[0] as NonNullable<(typeof one)[0]>)
      }
      expect(await d.state(id)).toBe('failed')
      return executions
    }
    expect(await tried(['agent'])).toBe(3)
    expect(await tried(['transient', 'external'])).toBe(1)
  })
})
