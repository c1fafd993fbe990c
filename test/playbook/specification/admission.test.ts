/** §3: what admits a token to its step, and what happens to a denied one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DefinitionError } from '../../../src/notations/source/mistakes.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import { PLACES } from '../../engine/drive.ts'
import { playbook, Stage, step, workflow } from '../stage.ts'

const admitted = (rules: string, rest = ''): string =>
  workflow(
    step('ask', 'next: { arcs: [{ step: ship, args: { n: 7 } }] }'),
    step('ship', `spec: { policy: { admit: { ${rest}rules: [${rules}] } } }`),
  )

describe('§3.1 step.when', () => {
  it('does not exist: it is refused with a hint to admission', async () => {
    const text = playbook(workflow(step('a', "when: '{{ true }}'")))
    const error = await readDefinition('example.yaml', text).catch((caught: DefinitionError) => caught)
    expect((error as DefinitionError).problems[0]).toMatchObject({
      line: 5,
      message: expect.stringContaining('when'),
      hint: expect.stringContaining('spec.policy.admit'),
    })
  })
})

describe.each(PLACES)('§3 admission on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('§3.1 without admission every token is admitted', async () => {
    await stage.start(workflow(step('a', 'next: { arcs: [{ step: b }] }'), step('b')))
    expect(await stage.through()).toEqual(['a', 'b'])
  })

  it.each([
    ["{ when: '{{ workload.open }}', then: { allow: true } }, { else: { then: { allow: false } } }", true],
    ["{ when: '{{ not workload.open }}', then: { allow: true } }, { else: { then: { allow: false } } }", false],
    ["{ when: '{{ workload.open }}', then: { allow: false } }, { else: { then: { allow: true } } }", false],
    ["{ when: '{{ args.n == 7 }}', then: { allow: true } }, { when: '{{ true }}', then: { allow: false } }", true],
    ["{ when: '{{ false }}', then: { allow: true } }", false],
  ])('§3.1 the first rule that holds decides: %s', async (rules, allowed) => {
    const id = await stage.start(admitted(rules), { open: true })
    await stage.succeed('ask')
    expect(await stage.running()).toEqual(allowed ? ['ship'] : [])
    expect((await stage.row(id)).held).toBe(allowed ? 0 : 1)
  })

  it('§3.2 a denied token is held, its execution waits, and a patch of the context admits it', async () => {
    const id = await stage.start(
      admitted("{ when: '{{ ctx.approved }}', then: { allow: true } }, { else: { then: { allow: false } } }"),
    )
    await stage.succeed('ask')
    expect(await stage.running()).toEqual([])
    expect(await stage.end(id)).toBe('waiting')
    await stage.patch(id, { remark: 'not yet' })
    expect(await stage.running()).toEqual([])
    await stage.patch(id, { approved: true })
    expect((await stage.given('ship')).args).toEqual({ n: 7 })
    await stage.succeed('ship')
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§3.2 context entries written by a step or an arc admit it as well', async () => {
    const gate = "spec: { policy: { admit: { rules: [{ when: '{{ ctx.ready }}', then: { allow: true } }] } } }"
    const id = await stage.start(
      workflow(
        step('fork', 'next: { spec: { mode: inclusive }, arcs: [{ step: gated }, { step: work }] }'),
        step('gated', gate),
        step('work'),
      ),
    )
    await stage.succeed('fork')
    expect(await stage.running()).toEqual(['work'])
    expect(await stage.end(id)).toBe('running')
    await stage.succeed('work', null, { ready: true })
    expect(await stage.running()).toEqual(['gated'])
    await stage.succeed('gated')
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§3.2 with on_deny: discard a denied token is discarded', async () => {
    const id = await stage.start(admitted('{ else: { then: { allow: false } } }', 'on_deny: discard, '))
    await stage.succeed('ask')
    expect(await stage.running()).toEqual([])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('a rule that cannot be evaluated fails the execution and names step and rule', async () => {
    const id = await stage.start(admitted("{ when: '{{ workload.n + 1 > 0 }}', then: { allow: true } }"), { n: 'x' })
    await stage.succeed('ask')
    expect(await stage.end(id)).toBe('failed: failed')
    expect(await stage.error(id)).toMatchObject({
      code: 'guard_error',
      message: expect.stringMatching(/'ship'.*rule 0/),
    })
  })
})
