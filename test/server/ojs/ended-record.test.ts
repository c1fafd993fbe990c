/** The record of an ended workflow never changes, whatever happens to its jobs and nested workflows afterwards. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { type Any, chain, Flow, group, job, once, states } from './flow.ts'

onBothStores('the record of an ended workflow', (stage) => {
  let s: Serving
  let f: Flow
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
    f = new Flow(s)
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const DEAD = { retry: { max_attempts: 1, on_exhaustion: 'dead_letter' } }
  const views = async (id: string): Promise<Any> => ({
    workflow: await f.get(id),
    // Whether a job is among the dead letters is not part of it: they may be dismissed.
    instance: JSON.parse((await s.get(`/v1/instances/${id}`)).text.replace(/"dead_letter":(true|false),/g, '')),
  })

  it('does not change when one of its dead letters is retried, fails again, is retried again and succeeds', async () => {
    const { id } = await f.create(chain(job('a', ['x']), job('b', [7], DEAD), once('c')))
    await f.ack(await f.fetchOne('a'), { n: 1 })
    const dead = await f.fetchOne('b')
    await f.nack(dead, { code: 'no_money' })
    const before = await views(id)
    expect(before.workflow).toMatchObject({
      state: 'failed',
      metadata: { failed_step_index: 1, failed_job_ids: [dead.id], errors: [{ job_id: dead.id, code: 'no_money' }] },
    })
    const retried = (await s.post(`/ojs/v1/dead-letter/${dead.id}/retry`)).body.job
    expect(retried).toMatchObject({ type: 'b', args: [7], state: 'available', attempt: 0, retry_of: dead.id })
    expect(await views(id)).toEqual(before)
    // It receives the same results as before, although it no longer belongs to the workflow.
    const again = await f.fetchOne('b')
    expect(again).toMatchObject({ id: retried.id, args: [7], parent_results: [{ n: 1 }], workflow_id: id })
    await f.nack(again)
    expect((await s.get('/ojs/v1/dead-letter')).body.jobs.map((one: Any) => one.id)).toEqual([retried.id])
    expect((await s.post(`/ojs/v1/dead-letter/${retried.id}/retry`)).status).toBe(200)
    await f.ack(await f.fetchOne('b'), 'late')
    expect(await f.fetch()).toEqual([])
    expect(await views(id)).toEqual(before)
    expect((await f.job(retried.id)).state).toBe('completed')
    expect(await f.job(dead.id)).toMatchObject({ state: 'discarded', attempt: 1 })
    const recorded = (await f.events()).filter((event) => event.type.startsWith('workflow.'))
    expect(recorded.at(-1)).toMatchObject({ type: 'workflow.failed', workflow_id: id })
  })

  it('lets each of its failed jobs be retried once, one by one or in bulk', async () => {
    const { id } = await f.create(group(job('a', [], DEAD), job('b', [], DEAD), once('c')))
    for (const one of await f.fetch()) await f.nack(one)
    const before = await views(id)
    const [a, b, c] = before.workflow.jobs.map((place: Any) => place.job_id)
    expect((await s.post(`/ojs/v1/admin/dead-letter/${a}/retry`)).body.state).toBe('available')
    expect((await s.post(`/ojs/v1/admin/dead-letter/${a}/retry`)).status).toBe(404)
    const refused = await s.post(`/ojs/v1/admin/jobs/${a}/retry`)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    expect(refused.body.error.message).toContain('retried before')
    const bulk = { filter: { state: 'discarded' }, confirm: true }
    expect((await s.post('/ojs/v1/admin/jobs/bulk/retry', bulk)).body).toMatchObject({ matched: 3, succeeded: 2 })
    expect((await s.post('/ojs/v1/admin/jobs/bulk/retry', bulk)).body).toMatchObject({ matched: 3, succeeded: 0 })
    const again = await f.fetch()
    expect(again.map((one) => one.retry_of).sort()).toEqual([a, b, c].sort())
    for (const one of again) await f.ack(one)
    expect(await views(id)).toEqual(before)
  })

  it('a workflow that is retried after one of its dead letters was carries over the results in its record', async () => {
    const { id } = await f.create(chain(once('a'), job('b', [], DEAD)))
    await f.ack(await f.fetchOne('a'), 'A')
    const dead = await f.fetchOne('b')
    await f.nack(dead)
    await s.post(`/ojs/v1/dead-letter/${dead.id}/retry`)
    await f.ack(await f.fetchOne('b'), 'outside')
    const retry = (await s.post(`/ojs/v1/workflows/${id}/retry`)).body.workflow
    expect(states(retry)).toEqual(['completed', 'pending'])
    expect((await f.fetchOne('b')).parent_results).toEqual(['A'])
  })

  it('names the jobs that the cancel of a nested workflow cancelled', async () => {
    const { id, steps } = await f.create(chain(group(once('a'), once('b')), once('c')))
    const inner = steps[0].workflow_id
    const [a] = await f.fetch(1)
    const nested = (await f.delete(inner)).body.workflow
    const b = nested.jobs[1].job_id
    await f.ack(a)
    const ended = await views(id)
    const cancelled = { job_id: b, code: 'cancelled', message: 'cancelled with its workflow', attempt: 0 }
    expect(ended.workflow).toMatchObject({
      state: 'failed',
      metadata: { failed_step_index: 0, failed_job_ids: [b], errors: [cancelled] },
    })
    expect(ended.workflow.steps[0].cancelled_at).toBe(nested.metadata.cancelled_at)
    // A second request by either id is refused and changes nothing.
    for (const workflow of [inner, id]) expect((await f.delete(workflow)).status).toBe(409)
    expect(await views(id)).toEqual(ended)
    // The nested workflow itself was cancelled; nothing failed in it.
    expect((await f.get(inner)).metadata.failed_job_ids).toBeUndefined()
  })
})
