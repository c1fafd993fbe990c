/** §9: the defaults. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLACES } from '../../engine/drive.ts'
import { Stage, step, workflow } from '../stage.ts'

describe.each(PLACES)('§9 defaults on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('the entry is workflow[0], unless executor.spec.entry_step names another', async () => {
    const steps = workflow(step('b'), step('start'), step('a'))
    await stage.start(steps)
    expect(await stage.through()).toEqual(['b'])
    await stage.start(`executor: { spec: { entry_step: a } }\n${steps}`)
    expect(await stage.through()).toEqual(['a'])
  })

  it('a step is enabled, unless its admission denies it', async () => {
    const id = await stage.start(workflow(step('a')))
    expect(await stage.running()).toEqual(['a'])
    expect((await stage.row(id)).held).toBe(0)
  })

  it('routing is exclusive: of several that match, the first in order wins', async () => {
    const arcs = "next: { arcs: [{ step: b, when: '{{ false }}' }, { step: c, when: '{{ true }}' }, { step: d }] }"
    await stage.start(workflow(step('a', arcs), step('b'), step('c'), step('d')))
    expect(await stage.through()).toEqual(['a', 'c'])
  })

  it('if no arc matches the branch ends, and nothing has failed', async () => {
    const id = await stage.start(workflow(step('a', "next: { arcs: [{ step: b, when: '{{ false }}' }] }"), step('b')))
    expect(await stage.through()).toEqual(['a'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('it is complete when nothing can run, nothing is in flight and no fan-in waits; not before', async () => {
    const fork = 'next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }] }'
    const join = 'next: { arcs: [{ step: d }] }'
    const id = await stage.start(
      workflow(step('a', fork), step('b', join), step('c', join), step('d', 'spec: { join: all }')),
    )
    for (const next of ['a', 'b', 'c', 'd']) {
      expect(await stage.end(id)).toBe('running')
      await stage.succeed(next)
    }
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('there is no last step unless executor.spec.final_step names one; and no step has to be called end', async () => {
    const steps = workflow(step('a'), step('end'), step('report'))
    const id = await stage.start(steps)
    expect(await stage.through()).toEqual(['a'])
    expect(await stage.end(id)).toBe('completed: success')
    await stage.start(`executor: { spec: { final_step: report } }\n${steps}`)
    expect(await stage.through()).toEqual(['a', 'report'])
  })
})
