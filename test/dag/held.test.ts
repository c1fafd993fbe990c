/**
 * A step that a worker holds, in four ways: what is published about it meanwhile, and the timeout of its workflow,
 * which applies whatever the worker does.
 */
import { expect, it } from 'vitest'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import type { Session } from '../../src/worker/port.ts'
import { Foreign } from '../inbox/foreign.ts'
import { onBothStores, type Serving, type Stage, until } from '../server/serving.ts'

const MINUTE_MS = 60_000

/** create, which has a compensation, then `work`, which a worker holds past the deadline. */
const flow = (failurePolicy: string): string => `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: held }
spec:
  timeout: 30m
  failurePolicy: ${failurePolicy}
  steps:
    - { name: create, uses: create }
    - { name: work, uses: work, dependsOn: [create] }
    - { name: send, uses: send, dependsOn: [work] }
  compensation:
    - { step: create, uses: undo }
`

interface Holder {
  /** Whether the worker is asked to stop at its next check. */
  asked(): Promise<boolean>
  /** It reports a success all the same: true if the report was accepted. */
  succeed(): Promise<boolean>
  close(): Promise<void>
}

/** `held`: the runs the worker reports to hold; the engine takes back those it does not name. */
async function session(serving: Serving, type: string, held: string[], stopped: string[] = []): Promise<Session> {
  const about = { name: 'sdk', runtime: 'node', queues: null, types: [type], concurrency: 1, tenant: null }
  const opened = await serving.engine.workers.open(about, {
    room: () => 0,
    deliver: () => {},
    wake: () => {},
    holding: () => held,
    stop: (runs) => stopped.push(...runs.map((run) => run.runId)),
  })
  return opened
}

/** Claims the one run of a type and ends it as succeeded. */
async function execute(serving: Serving, type: string): Promise<void> {
  const held: string[] = []
  const worker = await session(serving, type, held)
  const [delivery] = await until(
    () => worker.claim(1),
    (runs) => runs.length === 1,
  )
  if (delivery === undefined) throw new Error(`no ${type}`)
  held.push(delivery.runId)
  const outcome = { kind: 'succeeded', result: '{}' } as const
  await worker.settle({ delivery, reportId: `${type} ${delivery.runId}`, startedAt: null, outcome, wantNext: false })
  await worker.close()
}

const DOORS: Record<string, (serving: Serving, stage: Stage) => Promise<Holder>> = {
  async SDK(serving) {
    const held: string[] = []
    const stopped: string[] = []
    const worker = await session(serving, 'work', held, stopped)
    const [delivery] = await worker.claim(1)
    if (delivery === undefined) throw new Error('nothing to hold')
    held.push(delivery.runId)
    await worker.started([{ runId: delivery.runId, epoch: delivery.epoch, at: Date.now() }])
    const outcome = { kind: 'succeeded', result: '"late"' } as const
    return {
      asked: () =>
        until(
          async () => stopped.includes(delivery.runId),
          (events) => events,
        ),
      succeed: async () => {
        const report = { delivery, reportId: 'late', startedAt: null, outcome, wantNext: false }
        return (await worker.settle(report)).status === 'recorded'
      },
      close: () => worker.close(),
    }
  },
  async OJS(serving) {
    const fetch = { queues: ['work'], worker_id: 'ojs-1', count: 1, visibility_timeout_ms: 3_600_000 }
    const [job] = (await serving.post('/ojs/v1/workers/fetch', fetch)).body.jobs
    const about = { job_id: job.id, worker_id: 'ojs-1', attempt: job.attempt }
    return {
      asked: async () => (await serving.get(`/ojs/v1/jobs/${job.id}`)).body.job.state === 'cancelled',
      succeed: async () =>
        (await serving.post('/ojs/v1/workers/ack', { ...about, result: { value: 'late' } })).status === 200,
      close: async () => {},
    }
  },
  async 'runs API'(serving) {
    const claim = { worker_id: 'w1', types: ['work'], lease_seconds: 10_000 }
    const [run] = (await serving.post('/v1/runs/claim', claim)).body.runs
    const about = { worker_id: 'w1', epoch: run.epoch }
    return {
      asked: async () => {
        const { status, body } = await serving.post(`/v1/runs/${run.id}/heartbeat`, about)
        return status === 409 || body.cancel_requested === true
      },
      succeed: async () =>
        (await serving.post(`/v1/runs/${run.id}/complete`, { ...about, result: 'late' })).status === 200,
      close: async () => {},
    }
  },
  async 'plain SQL'(_serving, stage) {
    const go = await Foreign.connect(await stage.url())
    const { id } = await go.claimed('go-1', 'work', 100_000)
    return {
      asked: async () => (await go.status(id)) === 'cancelled',
      succeed: async () => (await go.succeed(id, 'late')).count === 1,
      close: () => go.close(),
    }
  },
}

onBothStores('a step that a worker holds', (stage) => {
  const begin = async (policy: string): Promise<{ serving: Serving; id: string }> => {
    const serving = await stage.serve()
    const { start } = await readDefinition('held.yaml', flow(policy))
    const [started] = await serving.engine.start([start])
    await execute(serving, 'create')
    return { serving, id: (started as { id: string }).id }
  }

  let offsetMs = 0
  const pass = async (serving: Serving): Promise<void> => {
    offsetMs += 31 * MINUTE_MS
    await serving.store.moveClock(offsetMs)
  }

  it.each(Object.entries(DOORS))(
    'by the %s: shown as running at once, reported as started with its end, in order',
    async (door, hold) => {
      const { serving, id } = await begin('abort')
      const holder = await hold(serving, stage)
      const ofWork = async (path: string): Promise<readonly string[]> =>
        (await serving.get(path)).body.events
          .filter((event: any) => event.instanceId === id && event.payload.stepName === 'work')
          .map((event: any) => event.type.replace('held.workflow_', ''))
      const lists = () => Promise.all([`/v1/instances/${id}/telemetry`, '/v1/telemetry?limit=1000'].map(ofWork))
      const { steps } = (await serving.get(`/v1/instances/${id}/steps`)).body
      expect(steps[1]).toMatchObject({ state: 'running', started_at: expect.any(String) })
      expect(await lists()).toEqual([['step_queued'], ['step_queued']])
      const { events } = (await serving.get(`/ojs/v1/events?limit=1000`)).body
      const ofJob = events.filter((event: any) => event.data.job_type === 'work').map((event: any) => event.type)
      expect(ofJob.at(-1)).toBe(door === 'SDK' ? 'job.enqueued' : 'job.started')
      expect(await holder.succeed()).toBe(true)
      const expected = ['step_queued', 'step_started', 'step_completed']
      await until(lists, ([one]) => one?.length === expected.length)
      expect(await lists()).toEqual([expected, expected])
      await holder.close()
    },
  )

  it.each(Object.entries(DOORS))(
    'past the deadline of its workflow, by the %s: the workflow ends at once, a late report changes nothing',
    async (_, hold) => {
      const { serving, id } = await begin('abort')
      const holder = await hold(serving, stage)
      try {
        await pass(serving)
        await serving.engine.sweep()
        // A sweep by the server may be in progress, and may have read the clock before it moved.
        const ended = await until(
          () => serving.engine.queries.instance(id),
          (row) => row?.endedAt !== null,
        )
        expect(ended).toMatchObject({ state: 'failed', outcome: 'timed_out' })
        expect(await holder.asked()).toBe(true)
        expect(await holder.succeed()).toBe(false)
        const view = await serving.engine.view(id)
        expect(view).toMatchObject({ instance: { state: 'failed' }, error: { code: 'timeout' } })
        expect(view?.runs.map(({ node, status }) => `${node} ${status}`)).toEqual([
          'create succeeded',
          'work cancelled',
        ])
      } finally {
        await holder.close()
      }
    },
  )

  it.each(Object.entries(DOORS))(
    'by the %s: a report after the deadline of its workflow is late before any sweep',
    async (_, hold) => {
      const { serving, id } = await begin('compensate')
      const holder = await hold(serving, stage)
      try {
        await pass(serving)
        await holder.succeed()
        await serving.engine.sweep()
        await execute(serving, 'undo')
        expect(await serving.engine.queries.instance(id)).toMatchObject({
          state: 'compensated',
          outcome: 'rolled_back',
        })
        const runs = (await serving.engine.view(id))?.runs ?? []
        expect(runs.map(({ node, role }) => `${role} ${node}`)).toEqual(['work create', 'work work', 'undo create'])
      } finally {
        await holder.close()
      }
    },
  )
})
