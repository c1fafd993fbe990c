/** OJS jobs and workflows that foreign clients execute, in OJS's own words. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InstanceRow } from '../../src/model/rows.ts'
import { ojsEvents } from '../../src/notations/ojs/project/events.ts'
import { DEFAULT_WINDOW } from '../../src/notations/ojs/project/workflow-load.ts'
import { workflowWire } from '../../src/notations/ojs/project/workflow-wire.ts'
import type { Drive } from '../engine/drive.ts'
import { chain, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('published as OJS events on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })
  const recorded = async (): Promise<[string, unknown][]> => {
    const feed = await d.store.read.feed({ afterId: 0, limit: 1000 })
    const mapped = await ojsEvents(d.engine, feed)
    return mapped.map(({ wire: { type, data } }) => [type, data['attempt'] ?? data['step_index'] ?? null])
  }

  it('a chain by plain SQL has the events of a chain, each once', async () => {
    const id = await workflow(d, chain(job('a.v1', null, 2), job('b.v1')))
    await go.fail(await go.claimed('go-1'))
    await d.pass(61_000)
    await go.succeed((await go.claimed('go-2')).id, { n: 1 })
    await d.engine.sweep()
    await go.succeed((await go.claimed('py-1')).id, { n: 2 })
    await d.engine.sweep()
    expect(await recorded()).toEqual([
      ['workflow.created', null],
      ['job.enqueued', null],
      ['job.started', 1],
      ['job.failed', 1],
      ['job.retrying', 1],
      ['job.started', 2],
      ['workflow.started', null],
      ['job.completed', 2],
      ['workflow.step_completed', 0],
      ['job.enqueued', null],
      ['job.started', 1],
      ['job.completed', 1],
      ['workflow.step_completed', 1],
      ['workflow.completed', null],
    ])
    const row = (await d.store.read.instance(id)) as InstanceRow
    expect(await workflowWire(d.engine, row, DEFAULT_WINDOW)).toMatchObject({
      state: 'completed',
      steps: [
        { state: 'completed', result: { n: 1 } },
        { state: 'completed', result: { n: 2 } },
      ],
    })
  })

  it('names the foreign worker that started a job', async () => {
    await d.engine.enqueue([{ type: 'email.send', payload: [] }])
    const { id } = await go.claimed('go-7')
    await go.cancel(id)
    const feed = await d.store.read.feed({ afterId: 0, limit: 100 })
    const wires = (await ojsEvents(d.engine, feed)).map(({ wire }) => wire)
    expect(wires.map((wire) => wire.type)).toEqual(['job.enqueued', 'job.started', 'job.cancelled'])
    expect(wires[1]?.data).toMatchObject({ worker_id: 'go-7', attempt: 1, job_id: id })
  })
})
