/**
 * Two `petrel server` processes on one Postgres, behind a balancer that alternates between them: the workflow cases
 * behave as with one server.
 */
import { createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Running, shell } from '../../cli/petrel.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../../services.ts'
import { client } from '../serving.ts'
import { type Any, batch, chain, Flow, group, job, once, states } from './flow.ts'

describe.skipIf(postgresUrl() === null)('two server processes on one Postgres, used alternately', () => {
  const sh = shell()
  const servers: Running[] = []
  let urls: readonly string[]
  let database: FreshDatabase
  let balancer: Server
  let url: string
  let f: Flow

  beforeAll(async () => {
    database = await freshDatabase()
    // In sequence: the first creates the schema.
    const started: string[] = []
    for (let n = 0; n < 2; n++) {
      const server = sh.start('server', '--json', '--port', '0', '--allow-reset', '--store', database.url)
      servers.push(server)
      started.push((await server.until(/"url":"([^"]+)"/))[1] as string)
    }
    urls = started
    balancer = await balance(urls)
    url = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`
    f = new Flow(client(url))
  }, 120_000)

  beforeEach(async () => {
    expect((await f.s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  afterAll(async () => {
    balancer?.closeAllConnections()
    balancer?.close()
    for (const server of servers) {
      server.child.kill('SIGTERM')
      expect((await server.ended).code).toBe(0)
    }
    const doctor = await sh.petrel('doctor', '--store', database.url)
    expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining('nothing found')])
    await database.drop()
  }, 60_000)

  it('4 chain', async () => {
    const { id } = await f.create(chain(job('a'), job('b'), job('c')))
    for (const [n, type] of ['a', 'b', 'c'].entries()) {
      const one = await f.fetchOne(type)
      expect(one.parent_results).toEqual(Array.from({ length: n }, (_, i) => ({ step: i })))
      await f.ack(one, { step: n })
    }
    expect(await f.get(id)).toMatchObject({ state: 'completed', steps_completed: 3 })
    expect(await f.get(id)).toEqual(await f.get(id))
  })

  it('4.3.3 chain that fails', async () => {
    const { id } = await f.create(chain(once('a'), once('b')))
    const a = await f.fetchOne('a')
    await f.nack(a)
    for (let look = 0; look < 2; look++) {
      const workflow = await f.get(id)
      expect([workflow.state, ...states(workflow)]).toEqual(['failed', 'failed', 'cancelled'])
      expect(workflow.metadata).toMatchObject({ failed_step_index: 0, failed_job_ids: [a.id] })
    }
    expect(await f.fetch()).toEqual([])
  })

  it('6 batch: the last reports reach both at once, each callback fires once', async () => {
    const { id } = await f.create(group(once('a'), once('b'), once('c'), once('d')))
    const held = await Promise.all([1, 2, 3, 4].map(() => f.fetchOne()))
    expect(new Set(held.map((one) => one.id)).size).toBe(4)
    await Promise.all(held.map((one) => (one.type === 'b' ? f.nack(one) : f.ack(one, one.type))))
    const workflow = await f.get(id)
    expect(workflow.state).toBe('failed')
    expect(states(workflow)).toEqual(['completed', 'failed', 'completed', 'completed'])
  })

  it('6 batch: the last reports at both at once, each callback once', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await f.create(batch(Array.from({ length: 12 }, () => once('a'))))
      const held = await f.fetch()
      await Promise.all(held.map((one) => f.ack(one)))
      const callbacks = [...(await f.fetch()), ...(await f.fetch())]
      expect(callbacks.map((one) => one.type).sort()).toEqual(['on.complete', 'on.success'])
      await Promise.all(callbacks.map((one) => f.ack(one)))
      expect((await f.get(id)).state).toBe('completed')
    }
  })

  it('10 nested: a group and a batch in a chain', async () => {
    const { id } = await f.create(
      chain(once('first'), group(once('left'), once('right')), batch([once('x')]), once('last')),
    )
    const order = await f.work((one) => one.type)
    expect(order[0]).toBe('first')
    expect(order.slice(1, 3).sort()).toEqual(['left', 'right'])
    expect(order[3]).toBe('x')
    expect(order.slice(4, 6).sort()).toEqual(['on.complete', 'on.success'])
    expect(order[6]).toBe('last')
    expect(await f.get(id)).toMatchObject({ state: 'completed', metadata: { completed_count: 5 } })
  })

  it('11.3 cancel: requested from both at once it is one cancel, and active jobs at either end by themselves', async () => {
    const { id } = await f.create(chain(group(once('a'), once('b')), once('c')))
    const a = await f.fetchOne()
    const replies = await Promise.all([1, 2, 3, 4].map(() => f.delete(id)))
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409, 409])
    expect(await f.fetch()).toEqual([])
    await f.ack(a, 'late')
    expect(await f.fetch()).toEqual([])
    expect((await f.get(id)).state).toBe('cancelled')
  })

  it('3.1 one id requested from both at once is given once', async () => {
    for (let round = 0; round < 5; round++) {
      const body = { ...chain(once('a')), id: `wf_${round}` }
      const replies = await Promise.all(Array.from({ length: 6 }, () => f.post(body)))
      expect(replies.map((reply) => reply.status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    }
  })

  it('long polls at one are woken by changes at the other: an enqueue, the end of a step, a callback', async () => {
    const [one, other] = urls.map((at) => client(at)) as [ReturnType<typeof client>, ReturnType<typeof client>]
    const poll = async (): Promise<Any> => {
      const began = performance.now()
      const asked = { queues: ['woken'], worker_id: 'w', wait_ms: 15_000 }
      const { body } = await one.post('/ojs/v1/workers/fetch', asked)
      return { ...body.jobs[0], waited: performance.now() - began }
    }
    const options = { queue: 'woken' }
    const waiting = poll()
    const { body } = await other.post('/ojs/v1/workflows', {
      ...chain(job('a', [], options), batch([job('b', [], options)], { on_complete: job('c', [], options) })),
    })
    let fetched = await waiting
    for (const type of ['a', 'b', 'c']) {
      expect(fetched.type).toBe(type)
      // A poll that was not woken would have waited until its end.
      expect(fetched.waited).toBeLessThan(10_000)
      const next = type === 'c' ? null : poll()
      const acked = await other.post('/ojs/v1/workers/ack', { job_id: fetched.id, worker_id: 'w' })
      expect(acked.status, acked.text).toBe(200)
      fetched = await next
    }
    expect((await f.get(body.id)).state).toBe('completed')
  })

  it('a lease given by one is renewed and fenced by the other', async () => {
    await f.s.post('/ojs/v1/jobs', job('a'))
    const held = await f.fetchOne('a')
    const beat = { worker_id: 'worker-1', active_jobs: [held.id] }
    for (let n = 0; n < 2; n++) {
      const { body } = await f.s.post('/ojs/v1/workers/heartbeat', beat)
      expect(body.jobs_extended).toEqual([held.id])
    }
    for (let n = 0; n < 2; n++) {
      expect((await f.s.post('/ojs/v1/workers/ack', { job_id: held.id, worker_id: 'thief' })).status).toBe(409)
    }
    const acks = await Promise.all([f.tryAck(held), f.tryAck(held)])
    expect(acks.map((reply) => reply.status).sort()).toEqual([200, 409])
  })
})

/** Every request goes to the next of them. */
async function balance(urls: readonly string[]): Promise<Server> {
  let turn = 0
  const server = createServer((asked, answer) => {
    const target = new URL(asked.url ?? '/', urls[turn++ % urls.length])
    const { method, headers } = asked
    const passed = forward(target, { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    asked.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
