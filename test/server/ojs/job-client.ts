/** A client that plays both sides of the job API: the producer and the worker. */
import type { Reply, Serving } from '../serving.ts'

export interface JobClient {
  /** The id of the new job. */
  enqueue(options?: object, more?: object): Promise<string>
  get(id: string): Promise<any>
  fetchJobs(body?: object): Promise<any[]>
  ack(id: string, more?: object): Promise<Reply>
  nack(id: string, error?: object, more?: object): Promise<Reply>
  beat(worker: string, jobs: readonly string[], more?: object): Promise<any>
}

export function jobClient(serving: () => Serving): JobClient {
  return {
    async enqueue(options = {}, more = {}) {
      return (await serving().post('/ojs/v1/jobs', { type: 'a', args: [], options, ...more })).body.job.id
    },
    async get(id) {
      return (await serving().get(`/ojs/v1/jobs/${id}`)).body.job
    },
    async fetchJobs(body = {}) {
      return (await serving().post('/ojs/v1/workers/fetch', { queues: ['default'], ...body })).body.jobs
    },
    ack: (id, more = {}) => serving().post('/ojs/v1/workers/ack', { job_id: id, ...more }),
    nack: (id, error = {}, more = {}) =>
      serving().post('/ojs/v1/workers/nack', {
        job_id: id,
        error: { code: 'handler_error', message: 'm', ...error },
        ...more,
      }),
    async beat(worker, jobs, more = {}) {
      const body = { worker_id: worker, active_jobs: jobs, ...more }
      return (await serving().post('/ojs/v1/workers/heartbeat', body)).body
    },
  }
}

export function ids(jobs: readonly { readonly id: string }[]): string[] {
  return jobs.map((job) => job.id)
}
