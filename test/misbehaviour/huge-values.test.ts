/**
 * Large values in the store: lists and views show their size instead, and many simultaneous requests do not use up the
 * memory.
 */

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { petrelOn } from '../../src/client/petrel.ts'
import { shell } from '../cli/petrel.ts'
import { net, node, run } from '../engine/drive.ts'
import { type Client, client, onBothStores, type Reply, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const MB = 1024 * 1024
const RESULTS = 12
const REQUESTS = process.env['PETREL_TEST_FULL'] === '1' ? 240 : 24

onBothStores('values of a megabyte', (stage) => {
  test('are left out of views and lists beyond a total of one megabyte, with their size and where to read them', async () => {
    const s = await stage.serve()
    const id = await workflowOfResults(s)
    const view = await s.get(`/v1/instances/${id}`)
    expect(view.status).toBe(200)
    expect(view.text.length).toBeLessThan(4 * MB)
    const results = Object.entries(view.body.results) as [string, any][]
    expect(results).toHaveLength(RESULTS)
    const omitted = results.filter(([, value]) => value.$omitted !== undefined)
    expect(omitted.length).toBeGreaterThanOrEqual(RESULTS - 1)
    const { bytes, href } = (omitted.at(-1) as [string, any])[1].$omitted
    expect(bytes).toBeGreaterThan(MB / 2)
    const whole = await s.get(href)
    expect(whole.body.result.text).toHaveLength(900_000)
    const { runs } = view.body
    expect(runs.some((run: any) => run.result?.$omitted?.href === `/v1/runs/${run.id}`)).toBe(true)

    const jobs = await s.get('/ojs/v1/admin/jobs?limit=100')
    expect([jobs.status, jobs.text.length < 4 * MB]).toEqual([200, true])
    const last = jobs.body.jobs.at(-1)
    expect((await s.get(`/ojs/v1/jobs/${last.id}`)).body.job.result.text).toHaveLength(900_000)
  }, 120_000)

  test('of submitted runs are left out of the list of runs', async () => {
    const s = await stage.serve()
    for (let i = 0; i < 8; i++) {
      const payload = { text: 'x'.repeat(900_000) }
      expect((await s.post('/v1/runs', { type: 'huge.run.v1', payload })).status).toBe(201)
    }
    const { body, text } = await s.get('/v1/runs?type=huge.run.v1&limit=100')
    expect(text.length).toBeLessThan(3 * MB)
    expect(body.runs).toHaveLength(8)
    const { $omitted } = body.runs.at(-1).payload
    expect($omitted).toMatchObject({ href: `/v1/runs/${body.runs.at(-1).id}` })
    expect((await s.get($omitted.href)).body.run.payload.text).toHaveLength(900_000)
    // A small number of them is shown completely.
    expect((await s.get('/v1/runs?type=huge.run.v1&limit=1')).body.runs[0].payload.text).toHaveLength(900_000)
  }, 120_000)

  test('of gates are left out of lists of gates and of the view of their instance', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const args = { text: 'x'.repeat(900_000) }
    const gates = Array.from({ length: 8 }, (_, i) =>
      node(`ok${i}`, [], { work: { kind: 'gate', options: {}, timeoutMs: null, onTimeout: 'reject' } }),
    )
    const arcs = gates.map(({ key }) => ({ to: key, when: null, args: args as never, set: null }))
    const first = node('first', [], { work: { kind: 'pass' }, next: { mode: 'every', arcs, scope: null } })
    const [started] = await s.engine.start([{ net: net([first, ...gates], { name: 'gates' }) }])
    const { id } = started as { id: string }

    const list = await s.get('/v1/gates?limit=200')
    expect([list.status, list.text.length < 3 * MB]).toEqual([200, true])
    expect(list.body.gates).toHaveLength(8)
    const last = list.body.gates.at(-1)
    expect(last.args).toEqual({ $omitted: { bytes: expect.any(Number), href: `/v1/gates/${last.id}` } })
    expect((await s.get(last.args.$omitted.href)).body.gate.args.text).toHaveLength(900_000)
    // One alone is shown completely.
    expect((await s.get('/v1/gates?limit=1')).body.gates[0].args.text).toHaveLength(900_000)

    const view = await s.get(`/v1/instances/${id}`)
    expect([view.status, view.text.length < 3 * MB]).toEqual([200, true])
    expect(view.body.gates).toHaveLength(8)
    expect(view.body.gates.at(-1).args.$omitted).toMatchObject({ href: `/v1/gates/${view.body.gates.at(-1).id}` })
  }, 120_000)
})

onBothStores('lists of scheduled work', (stage) => {
  const text = 'x'.repeat(900_000)

  test('leave out payloads of schedules beyond a total of one megabyte', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    for (let i = 0; i < 6; i++) {
      const given = { type: 'huge.schedule.v1', schedule: '0 0 1 1 *', payload: { text } }
      expect((await s.post('/v1/schedules', given)).status).toBe(201)
    }
    const list = await s.get('/v1/schedules')
    expect([list.status, list.text.length < 3 * MB, list.body.schedules.length]).toEqual([200, true, 6])
    expect(list.body.schedules[0].payload.text).toHaveLength(900_000)
    const { bytes, href } = list.body.schedules.at(-1).payload.$omitted
    expect(bytes).toBeGreaterThan(MB / 2)
    expect((await s.get(href)).body.schedule.payload.text).toHaveLength(900_000)
  }, 60_000)

  test('leave out arguments of cron jobs beyond a megabyte on a page', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    for (let i = 0; i < 6; i++) {
      const given = { name: `huge-${i}`, cron: '0 0 1 1 *', type: 'huge', args: [text], options: { queue: 'huge' } }
      expect((await s.post('/ojs/v1/cron', given)).status).toBe(201)
    }
    for (const [path, name] of [
      ['/ojs/v1/cron', 'crons'],
      ['/ojs/v1/crons', 'items'],
    ] as const) {
      const list = await s.get(`${path}?limit=100`)
      expect([list.status, list.text.length < 5 * MB, list.body[name].length]).toEqual([200, true, 6])
      expect(list.body[name][0].args[0]).toHaveLength(900_000)
      const last = list.body[name].at(-1)
      expect(last).toMatchObject({ name: 'huge-5', type: 'huge', options: { queue: 'huge' } })
      expect((await s.get(last.args.$omitted.href)).body.cron.args[0]).toHaveLength(900_000)
      // Alone on a page it is complete.
      expect((await s.get(`${path}?per_page=1&page=6`)).body[name][0].args[0]).toHaveLength(900_000)
    }
  }, 60_000)
})

onBothStores('sagas with long requests', (stage) => {
  test('are listed without them beyond a total of one megabyte', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const file = `apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: huge }
spec:
  steps:
    - name: reserve
      command: { subject: shop.v1.orders.reserve }
      compensation: { subject: shop.v1.orders.release }
`
    const headers = { 'content-type': 'application/yaml' }
    expect((await s.ask('POST', '/v1/definitions', { headers, body: file })).status).toBe(201)
    for (let i = 0; i < 6; i++) {
      const input = { text: 'x'.repeat(900_000) }
      expect((await s.post('/v1/instances', { workflow: 'huge', input })).status).toBe(201)
    }
    const list = await s.get('/v1/sagas?limit=200')
    expect([list.status, list.text.length < 3 * MB, list.body.sagas.length]).toEqual([200, true, 6])
    expect(list.body.sagas[0].request.text).toHaveLength(900_000)
    const { href } = list.body.sagas.at(-1).request.$omitted
    expect((await s.get(href)).body.saga.request.text).toHaveLength(900_000)
  }, 60_000)
})

onBothStores('sagas with long replies', (stage) => {
  test('are shown with what their steps sent and received up to a total of one megabyte', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const petrel = petrelOn(s.engine)
    await petrel.saga()
    await petrel.work()
    const steps = Array.from(
      { length: 6 },
      (_, i) => `    - name: step${i}\n      command: { subject: shop.v1.a.b, body: {} }\n`,
    )
    const file = `apiVersion: petrel.dev/v1\nkind: Saga\nmetadata: { name: replies }\nspec:\n  steps:\n${steps.join('')}`
    const headers = { 'content-type': 'application/yaml' }
    expect((await s.ask('POST', '/v1/definitions', { headers, body: file })).status).toBe(201)
    const { id } = (await s.post('/v1/instances', { workflow: 'replies', input: {} })).body
    for (const _ of steps) {
      const take = () => s.engine.commands.take({ limit: 1, holdMs: 600_000 })
      const [command] = await until(take, (rows) => rows.length === 1)
      const runId = (command as { runId: string }).runId
      await s.engine.commands.confirm({ runIds: [runId] })
      await s.engine.complete({ runId, outcome: { kind: 'succeeded', result: { text: 'x'.repeat(900_000) } } })
    }
    const shown = await until(
      () => s.get(`/v1/sagas/${id}`),
      ({ body }) => body.saga.state === 'completed',
    )
    await petrel.close({ graceMs: 0 })
    expect(shown.text.length).toBeLessThan(2 * MB)
    expect(shown.body.steps).toHaveLength(6)
    expect(shown.body.steps[0].response.text).toHaveLength(900_000)
    const { id: last, response } = shown.body.steps.at(-1)
    expect(response).toEqual({ $omitted: { bytes: expect.any(Number), href: `/v1/runs/${last}` } })
    expect((await s.get(response.$omitted.href)).body.run.result.text).toHaveLength(900_000)
    expect(shown.body.saga.result.$omitted).toEqual({ bytes: expect.any(Number), href: `/v1/instances/${id}` })
    const view = await s.get(shown.body.saga.result.$omitted.href)
    expect(Object.keys(view.body.results)).toHaveLength(6)
  }, 60_000)
})

onBothStores('events with long results', (stage) => {
  test('shorten a poll, which continues where it ended, and are left out of a page by number', async () => {
    const s = await stage.serve()
    for (let i = 0; i < 12; i++) {
      await s.post('/ojs/v1/jobs', { type: 'huge', args: [i], options: { queue: 'results' } })
      const { jobs } = (await s.post('/ojs/v1/workers/fetch', { queues: ['results'], worker_id: 'w' })).body
      const report = { job_id: jobs[0].id, worker_id: 'w', attempt: 1, result: { text: 'x'.repeat(250_000) } }
      expect((await s.post('/ojs/v1/workers/ack', report)).status).toBe(200)
    }
    const recorded: any[] = []
    for (let cursor = '0', more = true; more; ) {
      const poll = await s.get(`/ojs/v1/events?types=job.completed&limit=1000&after=${encodeURIComponent(cursor)}`)
      expect([poll.status, poll.text.length < 2 * MB]).toEqual([200, true])
      recorded.push(...poll.body.events)
      cursor = poll.body.cursor
      more = poll.body.has_more
    }
    expect(new Set(recorded.map(({ id }) => id)).size).toBe(12)
    expect(recorded.map(({ data }) => data.result.text.length)).toEqual(Array(12).fill(250_000))
    const page = await s.get('/ojs/v1/events?types=job.completed&page=1&per_page=100')
    expect([page.status, page.text.length < 3 * MB, page.body.events.length]).toEqual([200, true, 12])
    expect(page.body.events.at(-1)).toMatchObject({ type: 'job.completed', data: { $omitted: {} } })
    const second = await s.get('/ojs/v1/events?types=job.completed&page=2&per_page=5')
    expect(second.body.events.map(({ id }: any) => id)).toEqual(page.body.events.slice(5, 10).map(({ id }: any) => id))
    expect(second.body.events[0].data.result.text).toHaveLength(250_000)
    expect(second.body.pagination).toMatchObject({ total: 12, has_more: true })
  }, 60_000)

  test('of one run are pages of its history, with data up to a total of one megabyte', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const { id } = (await s.post('/v1/runs', { type: 'huge.history.v1', payload: {}, max_attempts: 20 })).body.run
    for (let i = 0; i < 12; i++) {
      const claimed = await s.post('/v1/runs/claim', { worker_id: 'w', types: ['huge.history.v1'] })
      const { epoch } = claimed.body.runs[0]
      const details = { retry_delay_ms: 0, text: 'x'.repeat(200_000) }
      const failed = { worker_id: 'w', epoch, error: { message: `no ${i}`, details }, retryable: true }
      expect((await s.post(`/v1/runs/${id}/fail`, failed)).status).toBe(200)
    }
    const all = await s.get(`/v1/runs/${id}/events`)
    expect([all.status, all.text.length < 2 * MB, all.body.next_after]).toEqual([200, true, null])
    const long = all.body.events.filter(({ data }: any) => data?.error !== undefined || data?.$omitted !== undefined)
    expect(long).toHaveLength(12)
    expect(long[0].data.error.details.text).toHaveLength(200_000)
    expect(long.at(-1).data.$omitted.bytes).toBeGreaterThan(200_000)
    // On pages of a few all are complete.
    const paged: any[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page: Reply = await s.get(`/v1/runs/${id}/events?limit=5&after=${after}`)
      expect(page.body.events.length).toBeLessThanOrEqual(5)
      paged.push(...page.body.events)
      after = page.body.next_after
    }
    expect(paged.map(({ type }) => type)).toEqual(all.body.events.map(({ type }: any) => type))
    expect(paged.filter(({ data }) => data?.error?.details.text.length === 200_000)).toHaveLength(12)
    expect((await s.get(`/v1/runs/${id}/events?limit=0`)).status).toBe(400)
  }, 60_000)
})

onBothStores('jobs with long failures', (stage) => {
  test('are shown and listed with one megabyte of them in total, and of the others their code and message', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const retry = { max_attempts: 20 }
    const made = await s.post('/ojs/v1/jobs', { type: 'huge.failing', args: [], options: { queue: 'failing', retry } })
    const { id } = made.body.job
    for (let i = 1; i <= 6; i++) {
      const asked = { queues: ['failing'], worker_id: 'w' }
      const fetched = await until(
        () => s.post('/ojs/v1/workers/fetch', asked),
        ({ body }) => body.jobs.length > 0,
      )
      expect(fetched.body.jobs[0].id).toBe(id)
      expect(fetched.text.length).toBeLessThan(2 * MB)
      const error = { code: 'too_much', message: `no ${i}`, details: { text: 'x'.repeat(900_000) } }
      const failed = await s.post('/ojs/v1/workers/nack', {
        job_id: id,
        worker_id: 'w',
        attempt: i,
        error,
        requeue: true,
      })
      expect(failed.status, failed.text.slice(0, 300)).toBe(200)
    }
    for (const path of [`/ojs/v1/jobs/${id}`, '/ojs/v1/admin/jobs?queue=failing']) {
      const shown = await s.get(path)
      const { errors } = shown.body.job ?? shown.body.jobs[0]
      expect([shown.status, errors.length]).toEqual([200, 6])
      expect(errors.map(({ code, message }: any) => [code, message])).toEqual(
        errors.map((_: unknown, i: number) => ['too_much', `no ${i + 1}`]),
      )
      expect(errors.at(-1).details.text).toHaveLength(900_000)
      expect(errors[0].details.$omitted.bytes).toBeGreaterThan(900_000)
      expect(shown.text.length).toBeLessThan(5 * MB)
    }
  }, 60_000)
})

onBothStores('workers that ask for many runs', (stage) => {
  const text = 'x'.repeat(900_000)
  const RUNS = 20
  /** Eight megabytes, and a field that names the owner. */
  const MOST = 8 * MB + 100_000

  async function submit(s: Client, type: string): Promise<readonly string[]> {
    const ids: string[] = []
    for (let i = 0; i < RUNS; i++) ids.push((await s.post('/v1/runs', { type, payload: { i, text } })).body.run.id)
    return ids
  }

  test('get as many at a time as fit in eight megabytes, and the next request gets the others, in their order', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const ids = await submit(s, 'huge.claim.v1')
    const got: any[] = []
    for (const [worker, count] of [
      ['a', 9],
      ['b', 9],
      ['c', 2],
    ] as const) {
      const claimed = await s.post('/v1/runs/claim', { worker_id: worker, types: ['huge.claim.v1'], limit: 100 })
      expect([claimed.status, claimed.text.length < MOST, claimed.body.runs.length]).toEqual([200, true, count])
      got.push(...claimed.body.runs)
    }
    expect(got.map(({ id, epoch }) => [id, epoch])).toEqual(ids.map((id) => [id, 0]))
    expect(got.every(({ payload }) => payload.text.length === text.length)).toBe(true)
    const { events } = (await s.get(`/v1/runs/${ids.at(-1)}/events`)).body
    expect(events.map(({ type }: any) => type)).toEqual(['created', 'leased', 'started'])
  }, 60_000)

  test('that ask at the same time get different ones, and none gets nothing while there are more', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const ids = await submit(s, 'huge.together.v1')
    const replies = await Promise.all(
      ['a', 'b', 'c'].map((worker_id) =>
        s.post('/v1/runs/claim', { worker_id, types: ['huge.together.v1'], limit: 100 }),
      ),
    )
    expect(replies.map(({ body }) => body.runs.length).sort()).toEqual([2, 9, 9])
    expect(new Set(replies.flatMap(({ body }) => body.runs.map(({ id }: any) => id)))).toEqual(new Set(ids))
  }, 60_000)

  test('also as jobs, and past a queue that is full', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    await s.engine.setLimit({ key: 'queue:narrow', maxConcurrent: 1 })
    for (const queue of ['narrow', 'wide'])
      for (let i = 0; i < RUNS; i++) {
        const made = await s.post('/ojs/v1/jobs', { type: 'huge.job', args: [text], options: { queue } })
        expect(made.status).toBe(201)
      }
    const asked = { queues: ['narrow', 'wide'], count: 1000, worker_id: 'w' }
    const queues: string[][] = []
    for (let i = 0; i < 3; i++) {
      const fetched = await s.post('/ojs/v1/workers/fetch', asked)
      expect([fetched.status, fetched.text.length < MOST]).toEqual([200, true])
      queues.push(fetched.body.jobs.map((job: any) => job.queue))
    }
    expect(queues.flat()).toEqual(['narrow', ...Array(RUNS).fill('wide')])
  }, 60_000)

  test('get separately stored arguments complete, and no more than fit', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const body = run('huge.shared.v1', { args: { n: '{{ item }}' } })
    const items = JSON.stringify(Array.from({ length: RUNS }, (_, i) => i))
    const each = { kind: 'each', items, body, maxInFlight: null, failFast: false } as const
    const list = node('each', [], { work: { ...each, shared: { text: '{{ input.text }}' } } })
    await s.engine.start([{ net: net([list], { name: 'shared', inlineBytes: 1024 }), input: { text } }])
    const got: any[] = []
    for (let more = true; more; ) {
      const claimed = await s.post('/v1/runs/claim', { worker_id: 'w', types: ['huge.shared.v1'], limit: 100 })
      expect([claimed.status, claimed.text.length < MOST]).toEqual([200, true])
      more = claimed.body.runs.length > 0
      got.push(...claimed.body.runs)
    }
    expect(got.map(({ payload, attempt }) => [payload.n, payload.text.length, attempt])).toEqual(
      Array.from({ length: RUNS }, (_, i) => [i, text.length, 0]),
    )
  }, 60_000)

  test('return a run whose earlier results make it too long, without counting an attempt', async () => {
    const s = await stage.serve({ engine: { sweep: false } })
    const items = Array.from({ length: RUNS }, (_, i) => ({ type: 'after', args: [i], options: { queue: 'after' } }))
    const steps = [
      { type: 'before', args: [], options: { queue: 'before' } },
      { type: 'group', jobs: items },
    ]
    const made = await s.post('/ojs/v1/workflows', { type: 'chain', steps })
    expect(made.status, made.text).toBe(201)
    const { jobs } = (await s.post('/ojs/v1/workers/fetch', { queues: ['before'], worker_id: 'w' })).body
    const report = { job_id: jobs[0].id, worker_id: 'w', attempt: 1, result: { text } }
    expect((await s.post('/ojs/v1/workers/ack', report)).status).toBe(200)

    const got: any[] = []
    for (let more = true; more; ) {
      const fetched = await s.post('/ojs/v1/workers/fetch', { queues: ['after'], count: RUNS, worker_id: 'w' })
      expect([fetched.status, fetched.text.length < MOST]).toEqual([200, true])
      more = fetched.body.jobs.length > 0
      got.push(...fetched.body.jobs)
    }
    expect(got.map(({ args, attempt }) => [args[0], attempt])).toEqual(items.map((_, i) => [i, 1]))
    expect(got.every((job) => job.parent_results[0].text.length === text.length)).toBe(true)
    const words = (await s.get(`/v1/runs/${got.at(-1).id}/events`)).body.events.map(({ type }: any) => type)
    expect(words.slice(0, 4)).toEqual(['created', 'leased', 'started', 'returned'])
    expect(words.slice(-2)).toEqual(['leased', 'started'])
  }, 60_000)
})

describe('a server with large values', () => {
  const sh = shell()

  test('many simultaneous requests for the results of an instance do not use up the memory of a server', async () => {
    const store = ['--store', 'sqlite:huge.db']
    const keyOf = async (subject: string): Promise<Record<string, string>> => {
      const made = await sh.petrel('keys', 'add', '--subject', subject, '--scope', 'admin', ...store, '--json')
      return { authorization: `Bearer ${made.json().key}` }
    }
    const [greedy, calm] = [await keyOf('greedy'), await keyOf('calm')]
    const running = sh.start('server', '--port', '0', '--require-key', ...store)
    const url = (await running.until(/http:\/\/\S+:\d+/))[0]
    const s = as(client(url), greedy)
    const id = await workflowOfResults(s)
    const neighbour = await Neighbour.of(url, { headers: calm, slackMs: 15_000 })
    await neighbour.calm(3)
    let most = 0
    await neighbour.beside(async () => {
      const asked = Array.from({ length: REQUESTS }, () => s.get(`/v1/instances/${id}`))
      const watching = setInterval(() => {
        most = Math.max(most, residentMb(running.child.pid as number))
      }, 50)
      const replies = await Promise.all(asked)
      clearInterval(watching)
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    })
    await neighbour.expectUnaffected()
    expect(most).toBeGreaterThan(0)
    // One request alone took 1,205 MB, and 24 of them killed the process.
    expect(most).toBeLessThan(900)
    running.child.kill()
    await running.ended
  }, 240_000)
})

function as(to: Client, headers: Record<string, string>): Client {
  return { ...to, get: (path) => to.get(path, headers), post: (path, body) => to.post(path, body, headers) }
}

function residentMb(pid: number): number {
  const file = `/proc/${pid}/status`
  if (!existsSync(file)) return 0
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) / 1024
}

/** A chain whose steps have all returned 900 kB. */
async function workflowOfResults(s: Pick<Client, 'post' | 'get'>): Promise<string> {
  const steps = Array.from({ length: RESULTS }, (_, i) => ({ type: 'huge', args: [i], options: { queue: 'huge' } }))
  const { id } = (await s.post('/ojs/v1/workflows', { type: 'chain', steps })).body.workflow
  for (let i = 0; i < RESULTS; i++) {
    const asked = { queues: ['huge'], worker_id: 'w', wait_ms: 20_000 }
    const fetched = await until(
      () => s.post('/ojs/v1/workers/fetch', asked),
      ({ body }) => body.jobs.length > 0,
    )
    const result = { text: 'x'.repeat(900_000) }
    const report = { job_id: fetched.body.jobs[0].id, worker_id: 'w', attempt: 1, result }
    const acked = await s.post('/ojs/v1/workers/ack', report)
    expect(acked.status, acked.text.slice(0, 200)).toBe(200)
  }
  return id
}
