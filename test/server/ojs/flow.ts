/** A client and a worker in one: posts workflows, fetches their jobs, reports outcomes. */
import { expect } from 'vitest'
import type { Client, Reply } from '../serving.ts'

/** Replies are untyped; a wrong shape fails the expectation that reads it. */
export type Any = any

export const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
export const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export const job = (type: string, args: unknown[] = [], options?: object): object => ({
  type,
  args,
  ...(options === undefined ? {} : { options }),
})
/** Fails on its first failure. */
export const once = (type: string, options: object = {}): object =>
  job(type, [], { retry: { max_attempts: 1 }, ...options })

export const chain = (...steps: object[]): Any => ({ type: 'chain', steps })
export const group = (...jobs: object[]): Any => ({ type: 'group', jobs })
export const batch = (jobs: object[], callbacks?: object): Any => ({
  type: 'batch',
  jobs,
  callbacks: callbacks ?? {
    on_complete: once('on.complete'),
    on_success: once('on.success'),
    on_failure: once('on.failure'),
  },
})

/** The outcome of a job: an error fails it for good, anything else is its result. */
export type Answer = (job: Any) => unknown

export class Flow {
  readonly s: Client
  readonly queues: readonly string[]
  readonly worker: string

  constructor(s: Client, queues: readonly string[] = ['default'], worker = 'worker-1') {
    this.s = s
    this.queues = queues
    this.worker = worker
  }

  post(body: unknown): Promise<Reply> {
    return this.s.post('/ojs/v1/workflows', body)
  }

  async create(body: unknown): Promise<Any> {
    const reply = await this.post(body)
    expect(reply.status, reply.text).toBe(201)
    return reply.body.workflow
  }

  async get(id: string, query = ''): Promise<Any> {
    const reply = await this.s.get(`/ojs/v1/workflows/${id}${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply.body.workflow
  }

  delete(id: string): Promise<Reply> {
    return this.s.ask('DELETE', `/ojs/v1/workflows/${id}`)
  }

  async job(id: string): Promise<Any> {
    return (await this.s.get(`/ojs/v1/jobs/${id}`)).body.job
  }

  async fetch(count = 50): Promise<Any[]> {
    const { queues, worker } = this
    const reply = await this.s.post('/ojs/v1/workers/fetch', { queues, count, worker_id: worker })
    expect(reply.status, reply.text).toBe(200)
    return reply.body.jobs
  }

  async fetchOne(type?: string): Promise<Any> {
    const [found] = await this.fetch(1)
    expect(found, 'nothing was fetched').toBeDefined()
    if (type !== undefined) expect(found.type).toBe(type)
    return found
  }

  async ack(done: Any, result: unknown = null): Promise<Reply> {
    const reply = await this.tryAck(done, result)
    expect(reply.status, reply.text).toBe(200)
    return reply
  }

  tryAck(done: Any, result: unknown = null): Promise<Reply> {
    return this.s.post('/ojs/v1/workers/ack', { job_id: done.id, worker_id: this.worker, result })
  }

  async nack(failed: Any, error: object = {}, more: object = {}): Promise<Reply> {
    const reply = await this.s.post('/ojs/v1/workers/nack', {
      job_id: failed.id,
      worker_id: this.worker,
      error: { code: 'handler_error', message: 'it broke', ...error },
      ...more,
    })
    expect(reply.status, reply.text).toBe(200)
    return reply
  }

  /** Works until there is nothing to fetch; returns the types in the order of execution. */
  async work(answer: Answer = () => null): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const jobs = await this.fetch()
      if (jobs.length === 0) return done
      for (const one of jobs) {
        done.push(one.type)
        const value = answer(one)
        if (value instanceof Error) await this.nack(one, { message: value.message, retryable: false })
        else await this.ack(one, value)
      }
    }
  }

  /** All events so far, oldest first. */
  async events(types?: string): Promise<Any[]> {
    const found: Any[] = []
    for (let after = ''; ; ) {
      const query = `limit=1000${types === undefined ? '' : `&types=${types}`}${after === '' ? '' : `&after=${after}`}`
      const { status, body, text } = await this.s.get(`/ojs/v1/events?${query}`)
      expect(status, text).toBe(200)
      found.push(...body.events)
      if (!body.has_more) return found
      after = body.cursor
    }
  }
}

/** The states of steps or jobs, in their order. */
export function states(workflow: Any): string[] {
  return (workflow.steps ?? workflow.jobs).map((place: Any) => place.state)
}
