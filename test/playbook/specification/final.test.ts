/** §7 and §8: the final step, and steps that only route. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DefinitionError } from '../../../src/notations/source/mistakes.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import { PLACES } from '../../engine/drive.ts'
import { playbook, Stage, step, workflow } from '../stage.ts'

const FINAL = 'executor: { spec: { final_step: report } }\n'
const SOFT = 'executor: { spec: { final_step: report, policy: { final_step_failure: partial } } }\n'
const FORK = 'next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }] }'
const STEPS = workflow(step('a', FORK), step('b'), step('c'), step('report', "args: { who: '{{ workload.who }}' }"))

describe('§7.1 final_step', () => {
  it('that does not exist is refused, with its line', async () => {
    const text = playbook(`executor:\n  spec:\n    final_step: repotr\n${workflow(step('report'))}`)
    const error = await readDefinition('example.yaml', text).catch((caught: DefinitionError) => caught)
    expect((error as DefinitionError).problems[0]).toMatchObject({ line: 6, hint: expect.stringContaining('report') })
  })
})

describe.each(PLACES)('§7 final step on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('§7.1 runs once, after the last branch, and its end ends the execution', async () => {
    const id = await stage.start(FINAL + STEPS)
    await stage.succeed('a')
    await stage.succeed('b')
    expect(await stage.running()).toEqual(['c'])
    await stage.succeed('c')
    expect(await stage.running()).toEqual(['report'])
    expect(await stage.end(id)).toBe('running')
    await stage.succeed('report')
    expect(await stage.running()).toEqual([])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§7.1 also after a failure, which remains a failure', async () => {
    const id = await stage.start(FINAL + STEPS)
    await stage.succeed('a')
    await stage.fail('b', { code: 'timeout', message: 'too slow' })
    await stage.succeed('c')
    await stage.succeed('report')
    expect(await stage.end(id)).toBe('failed: failed')
    expect(await stage.error(id)).toMatchObject({ code: 'timeout', node: 'b' })
  })

  it('§7.1 not after a cancel', async () => {
    const id = await stage.start(FINAL + STEPS)
    await stage.d.engine.cancelInstance({ id, actor: null })
    expect(await stage.running()).toEqual([])
    expect(await stage.end(id)).toBe('cancelled: cancelled')
  })

  it('§7.1 without one nothing runs at the end', async () => {
    const id = await stage.start(workflow(step('a')))
    expect(await stage.through()).toEqual(['a'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§7.2 is given a summary: execution id, counts, references to results, failures', async () => {
    const id = await stage.start(FINAL + STEPS)
    await stage.succeed('a', { rows: ['a large result'] })
    await stage.fail('b', { code: 'timeout', message: 'too slow' })
    await stage.succeed('c', { ok: true })
    const { args } = await stage.given('report')
    expect(args).toEqual({
      execution_id: id,
      status_so_far: 'failed',
      counts: { steps: 3, runs: 3, branches: 2, failed: 1 },
      results: {
        a: { kind: 'result_ref', ref: `petrel://instances/${id}/results/a` },
        c: { kind: 'result_ref', ref: `petrel://instances/${id}/results/c` },
      },
      failures: [{ step: 'b', code: 'timeout', message: 'too slow', handled: false }],
    })
    expect(JSON.stringify(args)).not.toContain('a large result')
  })

  it('§7.2 an arc that leads to it only ends its branch, and does not count as a step', async () => {
    await stage.start(
      FINAL +
        workflow(
          step('a', 'next: { arcs: [{ step: route }] }'),
          '  - { step: route, next: { arcs: [{ step: report }] } }',
          step('report'),
        ),
    )
    await stage.succeed('a')
    expect(await stage.running()).toEqual(['report'])
    expect((await stage.given('report')).args).toMatchObject({ counts: { steps: 2, runs: 1, branches: 1, failed: 0 } })
  })

  it('§7.3 its failure fails the execution', async () => {
    const id = await stage.start(FINAL + STEPS)
    await stage.succeed('a')
    await stage.succeed('b')
    await stage.succeed('c')
    await stage.fail('report', { code: 'storage_quota', message: 'disk full' })
    expect(await stage.end(id)).toBe('failed: failed')
    expect(await stage.error(id)).toMatchObject({ code: 'storage_quota', node: 'report' })
  })

  it('§7.3 with policy.final_step_failure: partial it is partial, and every result stays readable', async () => {
    const id = await stage.start(SOFT + STEPS)
    await stage.succeed('a', { n: 1 })
    await stage.succeed('b', { n: 2 })
    await stage.succeed('c')
    await stage.fail('report')
    expect(await stage.end(id)).toBe('completed: partial')
    expect(await stage.d.results(id)).toMatchObject({ a: { n: 1 }, b: { n: 2 } })
  })

  it('its arcs are not followed', async () => {
    const id = await stage.start(FINAL + workflow(step('a'), step('report', 'next: { arcs: [{ step: a }] }')))
    expect(await stage.through()).toEqual(['a', 'report'])
    expect(await stage.end(id)).toBe('completed: success')
  })
})

describe.each(PLACES)('§8 noop on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('a noop step routes and writes the context, and needs no worker', async () => {
    const id = await stage.start(
      workflow(
        "  - { step: decide, tool: { kind: noop }, set: { ctx.way: '{{ workload.way }}' }, next: { arcs: [{ step: left, when: \"{{ ctx.way == 'left' }}\" }, { step: right }] } }",
        step('left'),
        step('right'),
      ),
      { way: 'left' },
    )
    expect(await stage.through()).toEqual(['left'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('the first and last step need no noop and no reserved name; a step called end is an ordinary step', async () => {
    const id = await stage.start(workflow(step('end', 'next: { arcs: [{ step: start }] }'), step('start')))
    expect(await stage.through()).toEqual(['end', 'start'])
    expect(await stage.end(id)).toBe('completed: success')
  })
})
