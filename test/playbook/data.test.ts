/** Which data of each other steps can read: in a loop, in code, in the final step, and however a value was passed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import { PLACES } from '../engine/drive.ts'
import { Performance } from './performance.ts'
import { playbook } from './stage.ts'

describe.each(PLACES)('data of playbooks on $name', (place) => {
  let performance: Performance
  beforeAll(async () => {
    performance = await Performance.open(place)
  }, 60_000)
  afterAll(() => performance.close())

  const play = async (text: string, workload?: Json) => {
    const id = await performance.start(await performance.read(playbook(text)), workload)
    const end = await performance.ended(id)
    const slots = await performance.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })
    const ctx = Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), JSON.parse(value)]))
    return { end, ctx, results: (await performance.results(id)) as any }
  }

  describe('a sequential loop', () => {
    const SUM = `workload: { numbers: [1, 2, 3] }
workflow:
  - step: add
    loop: { in: "{{ workload.numbers }}", iterator: n }
    tool: { kind: noop, result: "{{ ctx.sum | default(0) }}", set: { ctx.sum: "{{ (ctx.sum | default(0)) + iter.n }}" } }
`
    it('an item reads the context entries written by the previous one', async () => {
      const { end, ctx, results } = await play(SUM)
      expect([end, ctx, results.add.results]).toEqual(['completed: success', { sum: 6 }, [0, 1, 3]])
    })

    it('also in code, and where the entry was removed', async () => {
      const text = `workflow:
  - step: begin
    tool: { kind: noop, set: { ctx.last: 0, ctx.kept: same } }
    next: { arcs: [{ step: each }] }
  - step: each
    loop: { in: "{{ [1, 2, 3, 4] }}", iterator: n }
    tool:
      kind: python
      code: "result = [context['ctx'].get('last'), context['ctx']['kept'], context['iter']['n']]"
      set: { ctx.last: "{{ none if iter.n == 2 else iter.n }}" }
`
      const { results } = await play(text)
      expect(results.each.results).toEqual([
        [0, 'same', 1],
        [1, 'same', 2],
        [null, 'same', 3],
        [3, 'same', 4],
      ])
    })

    it('by the rules of a task as well', async () => {
      const text = `workflow:
  - step: each
    loop: { in: "{{ ['a', 'b', 'c'] }}", iterator: x }
    tool:
      - name: one
        kind: noop
        result: "{{ iter.x }}"
        spec: { policy: { rules: [{ else: { then: { do: continue, set: { ctx.all: "{{ (ctx.all or '') + output.data }}" } } } }] } }
`
      expect((await play(text)).ctx).toEqual({ all: 'abc' })
    })

    it('a parallel one reads the context as it was when the loop began', async () => {
      const { results } = await play(SUM.replace('iterator: n }', 'iterator: n, spec: { mode: parallel } }'))
      expect(results.add.results).toEqual([0, 0, 0])
    })
  })

  it('the result of the final step is among the results', async () => {
    const text = `executor: { spec: { final_step: report } }
workflow:
  - step: work
    tool: { kind: noop, result: 1 }
  - step: report
    tool: { kind: noop, result: "{{ args.status_so_far }}" }
`
    expect((await play(text)).results).toEqual({ work: 1, report: 'success' })
  })

  it('code can read the results of all steps that have run, whether or not a template refers to them', async () => {
    const text = `workflow:
  - step: first
    tool: { kind: noop, result: { a: 1 } }
    next: { arcs: [{ step: many }] }
  - step: many
    loop: { in: "{{ [1, 2] }}", iterator: n }
    tool: { kind: noop, result: "{{ iter.n }}" }
    next: { arcs: [{ step: look }] }
  - step: look
    tool:
      - { name: before, kind: noop, result: 7 }
      - { name: code, kind: python, code: "result = context['results']" }
    next: { arcs: [{ step: later }] }
  - step: later
    loop: { in: "{{ [1] }}", iterator: n }
    tool: { kind: javascript, code: "return Object.keys(context.results).sort()" }
`
    const { results } = await play(text)
    expect(results.look).toEqual({
      first: { a: 1 },
      many: { stats: { total: 2, success: 2, failed: 0 } },
      before: 7,
    })
    expect(results.later.results).toEqual([['first', 'look', 'many']])
  })

  it('a guard gives the same result before and after a value has been stored', async () => {
    const keys = (of: string): string => `"{{ ${of} | list | join(' ') }}"`
    const text = `workload: { given: { zz: 1, a: 2, é: 3 } }
workflow:
  - step: make
    tool: { kind: python, code: "result = {'zz': 1, 'a': 2, 'deep': {'long': 1, 'b': 2}}" }
    set: { ctx.at_once: ${keys('make')}, ctx.map: "{{ {'yy': 1, 'b': 2} }}" }
    next: { arcs: [{ step: rest, args: { got: "{{ make }}", first: ${keys('workload.given')} } }] }
  - step: rest
    tool:
      - { name: sleep, kind: noop, result: { q: 1, aaa: 2, bb: 3 }, set: { ctx.in_task: ${keys('output')} } }
      - { name: look, kind: python, input: { got: "{{ args.got }}" }, code: "result = [list(got), list(got['deep'])]" }
    set: { ctx.later: ${keys('make')}, ctx.input: ${keys('workload.given')}, ctx.of_map: ${keys('ctx.map')} }
`
    const { ctx, results } = await play(text)
    expect(ctx).toMatchObject({
      at_once: 'a zz deep',
      later: 'a zz deep',
      in_task: 'q bb aaa',
      input: 'a zz é',
      of_map: 'b yy',
    })
    expect(results.rest).toEqual([
      ['a', 'zz', 'deep'],
      ['b', 'long'],
    ])
  })
})
