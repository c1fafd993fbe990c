/** §4: which arcs of a step are taken, and what they carry. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SLOT } from '../../../src/net/slots.ts'
import { PLACES } from '../../engine/drive.ts'
import { Stage, step, workflow } from '../stage.ts'

const TARGETS = [step('x'), step('y'), step('z')]
const routed = (next: string): string => workflow(step('a', `next: ${next}`), ...TARGETS)

describe.each(PLACES)('§4 routing on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('§4.1 arcs are evaluated after step.done and after step.failed; a guarded one handles the failure', async () => {
    const next = `{ arcs: [{ step: x, when: "{{ event.name == 'step.done' }}" }, { step: y, when: "{{ event.name == 'step.failed' }}" }] }`
    const good = await stage.start(routed(next))
    await stage.succeed('a')
    expect(await stage.through()).toEqual(['x'])
    expect(await stage.end(good)).toBe('completed: success')
    const bad = await stage.start(routed(next))
    await stage.fail('a')
    expect(await stage.through()).toEqual(['y'])
    expect(await stage.end(bad)).toBe('completed: success')
  })

  it('§4.1 an arc without a guard is taken after a failure too, but does not handle it', async () => {
    const id = await stage.start(routed('{ arcs: [{ step: x }] }'))
    await stage.fail('a', { code: 'timeout', message: 'too slow' })
    expect(await stage.through()).toEqual(['x'])
    expect(await stage.end(id)).toBe('failed: failed')
    expect(await stage.error(id)).toMatchObject({ code: 'timeout', message: 'too slow' })
  })

  it.each([
    ['step.done', ['step.done', 'call.done', 'step.exit']],
    ['step.failed', ['step.failed', 'call.error']],
  ])('§4.1 the event %s has the aliases %j', async (name, aliases) => {
    for (const alias of aliases) {
      const id = await stage.start(routed(`{ arcs: [{ step: x, when: "{{ event.name == '${alias}' }}" }] }`))
      await (name === 'step.done' ? stage.succeed('a') : stage.fail('a'))
      expect(await stage.through(), alias).toEqual(['x'])
      expect(await stage.end(id)).toBe('completed: success')
    }
    const other = name === 'step.done' ? 'call.error' : 'call.done'
    await stage.start(routed(`{ arcs: [{ step: x, when: "{{ event.name in ['${other}', 'loop.done'] }}" }] }`))
    await (name === 'step.done' ? stage.succeed('a') : stage.fail('a'))
    expect(await stage.through()).toEqual([])
  })

  it('§4.1 arcs of a loop are evaluated once, with loop.done, after its last item', async () => {
    const loop = "loop: { in: '{{ workload.items }}', iterator: it, spec: { mode: parallel } }"
    const next = `next: { arcs: [{ step: x, when: "{{ event.name == 'loop.done' and a.stats.total == 3 }}" }] }`
    const id = await stage.start(workflow(step('a', `${loop}, ${next}`), ...TARGETS), { items: [1, 2, 3] })
    expect(await stage.running()).toEqual(['a', 'a', 'a'])
    await stage.succeed('a')
    await stage.succeed('a')
    expect(await stage.running()).toEqual(['a'])
    await stage.succeed('a')
    expect(await stage.through()).toEqual(['x'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§4.2 guards can read event, workload, ctx, args and the results of steps', async () => {
    const guard =
      "{{ event.name == 'step.done' and workload.limit == 5 and ctx.seen == 'yes' and args.from == 'a' and a.n == 1 and output.data.m == 2 and outcome.result.m == 2 and limit == 5 }}"
    const id = await stage.start(
      workflow(
        step('a', 'next: { arcs: [{ step: b, args: { from: a } }] }'),
        step('b', `next: { arcs: [{ step: x, when: "${guard}" }, { step: y }] }`),
        ...TARGETS,
      ),
      { limit: 5 },
    )
    await stage.succeed('a', { n: 1 }, { seen: 'yes' })
    await stage.succeed('b', { m: 2 })
    expect(await stage.through()).toEqual(['x'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§4.2 a guard that cannot be evaluated fails the execution and names step and arc', async () => {
    const id = await stage.start(routed("{ arcs: [{ step: x, when: '{{ a.n + 1 > 0 }}' }] }"))
    await stage.succeed('a', { n: 'text' })
    expect(await stage.end(id)).toBe('failed: failed')
    expect(await stage.error(id)).toMatchObject({ code: 'guard_error', message: expect.stringMatching(/'a'.*'x'/) })
  })

  const ARCS = "[{ step: x, when: '{{ a.n > 10 }}' }, { step: y, when: '{{ a.n > 1 }}' }, { step: z }]"
  it.each([
    ['by default the first match wins', `{ arcs: ${ARCS} }`, 5, ['y']],
    ['exclusive: the first match wins', `{ spec: { mode: exclusive }, arcs: ${ARCS} }`, 50, ['x']],
    ['exclusive: an arc without a guard matches', `{ spec: { mode: exclusive }, arcs: ${ARCS} }`, 0, ['z']],
    ['inclusive: every match gets a token', `{ spec: { mode: inclusive }, arcs: ${ARCS} }`, 50, ['x', 'y', 'z']],
    ['inclusive: only matches', `{ spec: { mode: inclusive }, arcs: ${ARCS} }`, 5, ['y', 'z']],
  ])('§4.3 %s', async (_, next, n, taken) => {
    const id = await stage.start(routed(next))
    await stage.succeed('a', { n })
    expect(await stage.running()).toEqual(taken)
    await stage.through()
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§4.4 the args of an arc are bound into its token and do not change for that step-run', async () => {
    await stage.start(
      workflow(
        step(
          'a',
          "next: { spec: { mode: inclusive }, arcs: [{ step: x, args: { page: '{{ a.page }}' } }, { step: x, args: { page: 2 } }] }",
        ),
        step('x'),
      ),
    )
    await stage.succeed('a', { page: 1 }, { page: 99 })
    const first = await stage.given('x')
    await stage.succeed('x')
    const second = await stage.given('x')
    expect([first.args, second.args].map((args) => (args as { page: number }).page).sort()).toEqual([1, 2])
  })

  it('§4.4 large args are stored separately and passed as a reference; guards and workers see the value', async () => {
    const big = 'x'.repeat(100_000)
    await stage.start(
      workflow(
        step('a', "next: { arcs: [{ step: b, args: { big: '{{ a.big }}' } }] }"),
        step('b', "next: { arcs: [{ step: x, when: '{{ (args.big | length) == 100000 }}' }] }"),
        ...TARGETS,
      ),
    )
    await stage.succeed('a', { big })
    const { payload } = await stage.take('b')
    expect(payload.length).toBeLessThan(1000)
    expect(payload).toContain('"$ref"')
    await stage.succeed('b')
    expect(await stage.running()).toEqual(['x'])
  })

  it('an arc writes the context when it is taken, and only then', async () => {
    const id = await stage.start(
      routed(
        "{ arcs: [{ step: x, when: '{{ a.n > 1 }}', set: { ctx.way: long } }, { step: y, set: { ctx.way: short } }] }",
      ),
    )
    await stage.succeed('a', { n: 0 })
    expect(await stage.d.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })).toEqual([
      expect.objectContaining({ key: 'c:way', value: '"short"' }),
    ])
  })
})
