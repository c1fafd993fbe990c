/** /metrics under the names that workers on such tables usually have. */
import pg from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../../src/store/sqlite/driver.ts'
import { Handlers } from '../../../src/worker/handlers.ts'
import { Worker } from '../../../src/worker/worker.ts'
import { onBothStores, type Serving, type Stage, until } from '../serving.ts'

onBothStores('metrics of the inbox', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const submit = async (type: string, more: object = {}): Promise<string> =>
    (await s.post('/v1/runs', { type, payload: {}, ...more })).body.id
  const claim = async (type: string): Promise<any> =>
    (await s.post('/v1/runs/claim', { worker_id: 'w', types: [type] })).body.runs[0]
  const series = async (): Promise<Map<string, number>> => {
    const lines = (await s.get('/metrics')).text.split('\n').filter((line) => line.startsWith('workflow_'))
    return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]))
  }
  const named = (name: string, labels: string): string => `${name}{${labels}}`

  it('claims, ends, failures and durations of workers over HTTP', async () => {
    const type = 'm.http.v1'
    const id = await submit(type, { max_attempts: 2 })
    const first = await claim(type)
    await s.post(`/v1/runs/${id}/fail`, { worker_id: 'w', epoch: first.epoch, error: { message: 'x' } })
    await s.store.moveClock(67_000)
    const second = await claim(type)
    await s.post(`/v1/runs/${id}/fail`, { worker_id: 'w', epoch: second.epoch, error: { message: 'x' } })
    await s.store.moveClock(0)
    await submit(type)
    const third = await claim(type)
    await s.post(`/v1/runs/${third.id}/complete`, { worker_id: 'w', epoch: third.epoch })
    // The same report again is not a second end.
    await s.post(`/v1/runs/${third.id}/complete`, { worker_id: 'w', epoch: third.epoch })
    const cancelled = await submit(type)
    await s.post(`/v1/runs/${cancelled}/cancel`)

    const found = await series()
    const w = `workflow_type="${type}",worker_id="w"`
    const none = `workflow_type="${type}",worker_id="(none)"`
    expect(found.get(named('workflow_run_claimed_total', w))).toBe(3)
    expect(found.get(named('workflow_run_completed_total', `${w},status="failed"`))).toBe(1)
    expect(found.get(named('workflow_run_completed_total', `${w},status="succeeded"`))).toBe(1)
    expect(found.get(named('workflow_run_completed_total', `${none},status="cancelled"`))).toBe(1)
    expect(found.get(named('workflow_run_failed_total', w))).toBe(1)
    expect(found.get(named('workflow_run_failed_attempts_total', `${w},attempt="1"`))).toBe(1)
    expect(found.get(named('workflow_run_failed_attempts_total', `${w},attempt="2"`))).toBe(1)
    const seconds = 'workflow_run_execution_duration_seconds'
    for (const status of ['pending', 'failed', 'succeeded']) {
      expect(found.get(named(`${seconds}_count`, `${w},status="${status}"`))).toBe(1)
      expect(found.get(named(`${seconds}_bucket`, `le="+Inf",${w},status="${status}"`))).toBe(1)
      expect(found.get(named(`${seconds}_bucket`, `le="300",${w},status="${status}"`))).toBe(1)
      expect(found.get(named(`${seconds}_sum`, `${w},status="${status}"`))).toBeLessThan(300)
    }
  })

  it('polls, uptime and last poll of a worker, known by its claims', async () => {
    await s.post('/v1/runs/claim', { worker_id: 'poller', types: ['none.%'] })
    await s.post('/v1/runs/claim', { worker_id: 'poller', types: ['none.%'] })
    const found = await series()
    expect(found.get(named('workflow_worker_poll_cycle_total', 'worker_id="poller"'))).toBe(2)
    expect(found.get(named('workflow_worker_uptime_seconds', 'worker_id="poller"'))).toBeGreaterThanOrEqual(0)
    const last = found.get(named('workflow_worker_last_poll_timestamp', 'worker_id="poller"')) ?? 0
    expect(Math.abs(Date.now() / 1000 - last)).toBeLessThan(60)
  })

  it('a worker of the SDK counts the same way, hand-offs too', async () => {
    const handlers = new Handlers()
    for (const type of ['m.sdk.v1', 'm.step']) handlers.add(type, async () => 'done')
    const worker = await Worker.start(s.engine.workers, { handlers, name: 'sdk' })
    for (let i = 0; i < 5; i++) await submit('m.sdk.v1')
    const chain = { type: 'chain', steps: [1, 2, 3].map((n) => ({ type: 'm.step', args: [n] })) }
    await s.post('/ojs/v1/workflows', chain)
    const ended = (type: string) =>
      named('workflow_run_completed_total', `workflow_type="${type}",worker_id="sdk",status="succeeded"`)
    const found = await until(series, (all) => all.get(ended('m.sdk.v1')) === 5 && all.get(ended('m.step')) === 3)
    await worker.stop()
    expect([found.get(ended('m.sdk.v1')), found.get(ended('m.step'))]).toEqual([5, 3])
    const claimed = (type: string) => named('workflow_run_claimed_total', `workflow_type="${type}",worker_id="sdk"`)
    expect([found.get(claimed('m.sdk.v1')), found.get(claimed('m.step'))]).toEqual([5, 3])
    expect(found.get(named('workflow_worker_poll_cycle_total', 'worker_id="sdk"'))).toBeGreaterThan(0)
  })

  it('a run that plain SQL ends counts under the worker (none)', async () => {
    const id = await submit('m.sql.v1')
    const table = stage.kind === 'postgres' ? 'workflow.workflow_run' : 'workflow_run'
    await sql(stage, `UPDATE ${table} SET status = 'succeeded', result = '1' WHERE id = '${id}'`)
    const ended = named(
      'workflow_run_completed_total',
      'workflow_type="m.sql.v1",worker_id="(none)",status="succeeded"',
    )
    expect((await until(series, (all) => all.has(ended))).get(ended)).toBe(1)
  })

  it('queue depth by type and status, of the whole store', async () => {
    const fresh = await stage.serve()
    await submit('m.depth.v1')
    await submit('m.depth.v1')
    await claim('m.depth.v1')
    const text = (await fresh.get('/metrics')).text
    expect(text).toContain('workflow_run_queue_depth{workflow_type="m.depth.v1",status="pending"} 1')
    expect(text).toContain('workflow_run_queue_depth{workflow_type="m.depth.v1",status="leased"} 1')
    expect(text).toContain('# TYPE workflow_run_execution_duration_seconds histogram')
  })
})

/** As a client of the table sends it. */
async function sql(stage: Stage, text: string): Promise<void> {
  const url = await stage.url()
  if (stage.kind === 'sqlite') {
    const database = await openDatabase(url.replace('sqlite:', ''))
    database.exec(text)
    database.close()
    return
  }
  const client = new pg.Client(url)
  await client.connect()
  await client.query(text)
  await client.end()
}
