/** Arguments too long to be copied into each run are stored separately; every reader receives the complete value. */
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { Arc, EachWork, Net, Node } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'

const arc = (to: string, rest: Partial<Arc> = {}): Arc => ({ to, when: null, args: null, set: null, ...rest })
const next = (...arcs: readonly Arc[]): Node['next'] => ({ mode: 'first', arcs, scope: null })
const LONG = 'ä'.repeat(100)
const SMALL: Partial<Net> = { inlineBytes: 128 }
const items = (from: string, rest: Partial<EachWork> = {}): EachWork => {
  return { kind: 'each', items: from, body: run('item'), maxInFlight: null, failFast: false, ...rest }
}

describe.each(PLACES)('separately stored arguments on $name', (place) => {
  let d: Drive
  let url: string
  beforeEach(async () => {
    const opened = await place.open()
    url = opened.url
    d = await Drive.open({ ...place, open: async () => opened })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const payloadAt = async (id: string, key: string): Promise<any> => {
    const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 50, after: null })
    return JSON.parse(runs.find((r) => r.node === key)?.payload ?? 'null')
  }
  const separate = async (id: string): Promise<Record<string, any>> =>
    Object.fromEntries(
      (await d.store.read.slots({ instanceId: id, prefix: SLOT.storedArgs.prefix })).map((s) => [
        s.key,
        JSON.parse(s.value),
      ]),
    )

  it('of an arc: the token carries a reference, and guards and admission read the value', async () => {
    const id = await d.start({
      net: net(
        [
          node('a', [], { next: next(arc('b', { args: { text: '{{ input.text }}' } })) }),
          node('b', [], {
            admit: { rules: [{ when: 'args.text | length == 100', allow: true }], onDeny: 'hold' },
            next: next(
              arc('c', { when: 'args.text | length == 100', args: { n: '{{ args.text | length }}' } }),
              arc('d'),
            ),
          }),
          node('c'),
          node('d'),
        ],
        SMALL,
      ),
      input: { text: LONG },
    })
    await d.succeed(await d.claimOne())
    const b = await payloadAt(id, 'b')
    expect(Object.keys(b)).toEqual(['$ref'])
    expect((await separate(id))[b.$ref]).toEqual({ text: LONG })
    await d.succeed(await d.claimOne())
    const c = await d.claimOne()
    expect([c.node, JSON.parse(c.payload)]).toEqual(['c', { n: 100 }])
  })

  it('of a run: rendered from its template, inline up to the limit in bytes', async () => {
    const text = (chars: number): Net =>
      net([node('a', [], { work: run('a', { args: { t: 'x'.repeat(chars) } }) })], SMALL)
    // {"t":"…"} adds eight characters.
    const fits = await d.start({ net: text(120) })
    expect(await payloadAt(fits, 'a')).toEqual({ t: 'x'.repeat(120) })
    const over = await d.start({ net: text(121) })
    const { $ref } = await payloadAt(over, 'a')
    expect((await separate(over))[$ref]).toEqual({ t: 'x'.repeat(121) })
    expect(Object.keys(await separate(fits))).toEqual([])
  })

  const SLY = [{ $ref: 'x:1' }, { $shared: 'x:1' }, { $shared: 'x:1', own: 1 }, { $ref: 'x:1', $shared: 'x:1' }]

  it('a value that looks like a reference is stored separately too, so that it is never resolved', async () => {
    const nodes = [
      node('a', ['l'], { work: run('a', { args: '{{ input }}' }) }),
      node('l', [], { next: next(arc('z', { args: { sly: '{{ input }}' } })), work: items('[input]') }),
      node('z', [], { admit: { rules: [{ when: 'args.sly == input', allow: true }], onDeny: 'discard' } }),
    ]
    for (const sly of SLY) {
      const id = await d.start({ net: net(nodes, SMALL), input: sly })
      for (const key of ['a', 'l', 'z']) {
        const w = await d.claimOne()
        expect([w.node, await d.session.dereference(w)]).toEqual([key, key === 'z' ? { sly } : sly])
        await d.succeed(w)
      }
      expect(await d.state(id)).toBe('completed')
    }
  })

  it('a net that stores nothing separately has no references, whatever its arguments look like', async () => {
    const fetched = { queues: null, types: null, runtime: null, tenant: null, limit: 1, holder: 'other', waitMs: 0 }
    for (const sly of SLY) {
      await d.start({
        net: net([
          node('a', [], { work: run('a', { args: '{{ input }}' }), next: next(arc('z', { args: sly })) }),
          node('z', [], { next: next(arc('end', { when: 'args == input' })) }),
          node('end'),
        ]),
        input: sly,
      })
      const a = await d.claimOne()
      expect(await d.session.dereference(a)).toEqual(sly)
      await d.succeed(a)
      const [z] = await d.engine.leases.fetch({ ...fetched, leaseMs: () => 60_000 })
      expect(JSON.parse(z?.payload ?? 'null')).toEqual(sly)
      const outcome = { kind: 'succeeded', result: null } as const
      await d.engine.leases.settle([{ runId: z?.id ?? '', holder: 'other', attempt: null, outcome }])
      expect(await d.work()).toEqual(['end'])
    }
  })

  it('a schema checks the complete value', async () => {
    const schema = { input: { path: [], schema: { properties: { t: { maxLength: 150 } } } }, output: null }
    const id = async (chars: number): Promise<string> =>
      d.start({
        net: net([node('a', [], { schema, work: run('a', { args: { t: '{{ input.t }}' } }) })], SMALL),
        input: { t: 'x'.repeat(chars) },
      })
    const fits = await id(150)
    expect(Object.keys(await payloadAt(fits, 'a'))).toEqual(['$ref'])
    expect(await d.error(await id(151))).toBe('invalid_input')
  })

  if (place.name === 'postgres')
    it('plain SQL reads them as inbox.md describes', async () => {
      const page = readFileSync(new URL('../../docs/inbox.md', import.meta.url), 'utf8')
      const sql = [...page.matchAll(/```sql\n([\s\S]*?)```/g)]
        .map(([, text]) => text)
        .find((text) => text?.includes('$shared'))
      const shared = items('input.xs', {
        shared: { text: '{{ input.text }}' },
        body: run('item', { args: { own: '{{ item }}' } }),
      })
      const whole = net(
        [node('l', [], { work: shared }), node('a', [], { work: run('a', { args: '{{ input.sly }}' }) })],
        {
          ...SMALL,
          entry: ['l', 'a'],
        },
      )
      const sly = { $shared: 'x:1', more: 1 }
      const id = await d.start({ net: whole, input: { xs: ['short', LONG], text: LONG, sly } })
      const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 50, after: null })
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      try {
        const given = []
        for (const { id: run } of runs)
          given.push((await client.query(`${sql}`.replace(':run', `'${run}'`))).rows[0].payload)
        expect(given).toEqual([{ text: LONG, own: 'short' }, { text: LONG, own: LONG }, sly])
      } finally {
        await client.end()
      }
    })

  it('children receive the complete value, and so do the undos of their nodes', async () => {
    const inner = net([node('x', [], { work: run('x', { args: { got: '{{ input.text }}' } }) })], { name: 'inner' })
    const id = await d.start({
      net: net(
        [
          node('a', [], { next: next(arc('sub', { args: { text: '{{ input.text }}' } })) }),
          node('sub', ['u'], { work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null } }),
          node('u', ['z'], { work: run('u', { args: { text: '{{ input.text }}' } }), undo: undoBy('u.undo') }),
          node('z', [], { retry: ONCE, onFailure: 'compensate' }),
        ],
        SMALL,
      ),
      nets: [inner],
      input: { text: LONG },
    })
    await d.succeed(await d.claimOne())
    const x = await d.claimOne()
    expect(JSON.parse(x.payload)).toEqual({ got: LONG })
    await d.succeed(x)
    await d.succeed(await d.claimOne(), 'did')
    await d.fail(await d.claimOne(), { retryable: false })
    const undo = await d.claimOne()
    expect(JSON.parse(undo.payload)).toEqual({ args: { text: LONG }, result: 'did' })
    await d.succeed(undo)
    expect(await d.state(id)).toBe('compensated')
  })

  it('items with shared arguments are not stored one by one, unless their own part is long', async () => {
    const id = await d.start({
      net: net(
        [
          node('l', [], {
            work: items('input.xs', {
              body: run('item', { args: { own: '{{ item }}' } }),
              shared: { text: '{{ input.text }}' },
            }),
          }),
        ],
        SMALL,
      ),
      input: { xs: ['short', LONG], text: LONG },
    })
    const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 50, after: null })
    const [short, long] = runs.map((r) => JSON.parse(r.payload))
    const kept = await separate(id)
    expect(short).toEqual({ own: 'short', $shared: expect.stringMatching(/^x:\d+$/) })
    expect(kept[short.$shared]).toEqual({ text: LONG })
    expect(kept[long.$ref]).toEqual({ own: LONG, $shared: short.$shared })
    expect(Object.keys(kept)).toHaveLength(2)
  })

  it('a net without the option stores nothing separately', async () => {
    const id = await d.start({
      net: net([node('a', [], { work: run('a', { args: { t: '{{ input.text }}' } }) })]),
      input: { text: LONG },
    })
    expect([await payloadAt(id, 'a'), await separate(id)]).toEqual([{ t: LONG }, {}])
  })
})
