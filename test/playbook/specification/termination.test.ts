/** §5 and §6: how branches end, when an execution is complete, and how it has ended. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadExecution } from '../../../src/notations/playbook/project/load.ts'
import { PLACES } from '../../engine/drive.ts'
import { Stage, step, workflow } from '../stage.ts'

const policy = (text: string): string => `executor: { spec: { policy: { ${text} } } }\n`
const FORK = 'next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }] }'

describe.each(PLACES)('§5 branches on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('§5.1 a step without next is a leaf: its branch ends with it', async () => {
    const id = await stage.start(workflow(step('a')))
    await stage.succeed('a')
    expect(await stage.end(id)).toBe('completed: success')
  })

  const NO_MATCH = workflow(step('a', "next: { arcs: [{ step: b, when: '{{ a.go }}' }] }"), step('b'))

  it('§5.2 if no arc matches the branch ends, without an error', async () => {
    const id = await stage.start(NO_MATCH)
    await stage.succeed('a', { go: false })
    expect(await stage.running()).toEqual([])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§5.2 with executor.spec.no_next_is_error it fails the execution', async () => {
    const id = await stage.start(`executor: { spec: { no_next_is_error: true } }\n${NO_MATCH}`)
    await stage.succeed('a', { go: false })
    expect(await stage.end(id)).toBe('failed: failed')
    expect(await stage.error(id)).toMatchObject({ code: 'no_match', message: expect.stringContaining("'a'") })
  })
})

describe.each(PLACES)('§6.1 quiescence on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('it is not complete while a step-run is held by a worker, waits for its next attempt, or can run', async () => {
    const id = await stage.start(workflow(step('a', FORK), step('b'), step('c')))
    await stage.succeed('a')
    await stage.succeed('b')
    expect(await stage.end(id)).toBe('running')
    const lost = await stage.take('c')
    await stage.d.fail(lost, { code: 'worker_lost', category: 'transient' })
    expect(await stage.end(id)).toBe('running')
    await stage.d.pass(60_000)
    const [again] = await stage.d.claim()
    expect(again?.node).toBe('c')
    await stage.d.succeed(again as NonNullable<typeof again>)
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('it is not complete while a join waits for its branches; without a join every token runs the step', async () => {
    const steps = (join: string): string =>
      workflow(
        step('a', FORK),
        step('b', 'next: { arcs: [{ step: d }] }'),
        step('c', 'next: { arcs: [{ step: d }] }'),
        step('d', join),
      )
    const joined = await stage.start(steps('spec: { join: all }'))
    await stage.succeed('a')
    await stage.succeed('b')
    expect(await stage.running()).toEqual(['c'])
    expect(await stage.end(joined)).toBe('running')
    await stage.succeed('c')
    expect(await stage.through()).toEqual(['d'])
    expect(await stage.end(joined)).toBe('completed: success')
    const each = await stage.start(steps(''))
    expect(await stage.through()).toEqual(['a', 'b', 'c', 'd', 'd'])
    expect(await stage.end(each)).toBe('completed: success')
  })

  it('a join continues without a branch that ended elsewhere or failed', async () => {
    const id = await stage.start(
      workflow(
        step('a', FORK),
        step('b', "next: { arcs: [{ step: d, when: '{{ false }}' }] }"),
        step('c', 'next: { arcs: [{ step: d }] }'),
        step('d', 'spec: { join: all }'),
      ),
    )
    await stage.succeed('a')
    await stage.succeed('c')
    expect(await stage.running()).toEqual(['b'])
    await stage.succeed('b')
    expect(await stage.through()).toEqual(['d'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  const HELD = workflow(
    step('a', FORK),
    step('b'),
    step('c', 'spec: { policy: { admit: { rules: [{ when: "{{ ctx.ok }}", then: { allow: true } }] } } }'),
  )

  it('held tokens alone keep it waiting', async () => {
    const id = await stage.start(HELD)
    expect(await stage.through()).toEqual(['a', 'b'])
    expect(await stage.end(id)).toBe('waiting')
    await stage.patch(id, { ok: 1 })
    expect(await stage.through()).toEqual(['c'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('with policy.pending: complete it completes without them and reports them', async () => {
    const id = await stage.start(policy('pending: complete') + HELD)
    expect(await stage.through()).toEqual(['a', 'b'])
    expect(await stage.end(id)).toBe('completed: success')
    const discarded = (await stage.events(id)).filter(({ type }) => type === 'node.discarded')
    expect(JSON.stringify(discarded.map(({ data }) => data))).toContain('c')
  })

  it('a cycle repeats until its guard ends it, and then it is complete', async () => {
    const id = await stage.start(
      workflow(
        step(
          'a',
          "next: { arcs: [{ step: a, when: '{{ a.page < 5 }}', args: { page: '{{ a.page + 1 }}' } }, { step: b }] }",
        ),
        step('b'),
      ),
    )
    let page = 1
    expect(await stage.through((name) => (name === 'a' ? { page: page++ } : null))).toEqual([
      'a',
      'a',
      'a',
      'a',
      'a',
      'b',
    ])
    expect(await stage.end(id)).toBe('completed: success')
  })
})

describe.each(PLACES)('§6.2 status on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  const HANDLED = `next: { arcs: [{ step: d, when: "{{ event.name == 'step.failed' }}" }] }`
  const two = (b: string): string => workflow(step('a', FORK), step('b', b), step('c'), step('d'))

  it.each([
    ['', '', 'failed: failed'],
    ['', HANDLED, 'completed: success'],
    ['failed_on: unhandled', HANDLED, 'completed: success'],
    ['failed_on: any', HANDLED, 'failed: failed'],
    ['partial: true', '', 'completed: partial'],
    ['failed_on: any, partial: true', HANDLED, 'completed: partial'],
  ])('policy { %s }, a failure %s: %s', async (words, b, end) => {
    const id = await stage.start(
      (words === '' ? '' : policy(words)) + two(b.includes('failed') ? b : 'next: { arcs: [] }'),
    )
    await stage.succeed('a')
    await stage.fail('b', { code: 'server_error', message: 'HTTP 500' })
    await stage.through()
    expect(await stage.end(id)).toBe(end)
    if (end === 'failed: failed') expect(await stage.error(id)).toMatchObject({ message: 'HTTP 500' })
  })

  it.each([
    ['success', '', ''],
    ['failed', '', 'b'],
    ['partial', 'partial: true', 'b'],
  ])('in the vocabulary of playbooks: %s', async (word, words, failing) => {
    const id = await stage.start((words === '' ? '' : policy(words)) + two('next: { arcs: [] }'))
    await stage.succeed('a')
    if (failing !== '') await stage.fail(failing)
    await stage.through()
    const loaded = await loadExecution(stage.d.engine, await stage.row(id))
    expect(loaded?.execution).toMatchObject({
      execution_id: id,
      status: word,
      counts: { failed: failing === '' ? 0 : 1 },
    })
    expect(loaded?.execution.failures.map(({ step }) => step)).toEqual(failing === '' ? [] : [failing])
  })

  it('success when every branch ended normally', async () => {
    const id = await stage.start(two(''))
    await stage.through()
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('failed_on: fail_fast stops at the first unhandled failure; running steps may end', async () => {
    const steps = workflow(step('a', FORK), step('b'), step('c', 'next: { arcs: [{ step: d }] }'), step('d'))
    const id = await stage.start(policy('failed_on: fail_fast') + steps)
    await stage.succeed('a')
    expect(await stage.running()).toEqual(['b', 'c'])
    await stage.fail('b')
    expect(await stage.end(id)).toBe('running')
    await stage.succeed('c')
    expect(await stage.running()).toEqual([])
    expect(await stage.end(id)).toBe('failed: failed')
  })

  it('fail_fast lets a guarded arc handle its failure', async () => {
    const id = await stage.start(policy('failed_on: fail_fast') + two(HANDLED))
    await stage.succeed('a')
    await stage.fail('b')
    expect(await stage.through()).toEqual(['c', 'd'])
    expect(await stage.end(id)).toBe('completed: success')
  })
})
