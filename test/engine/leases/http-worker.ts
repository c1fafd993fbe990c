/** A worker over HTTP from the view of the engine: fetches, reports and renews by hand. */
import type { EngineOptions } from '../../../src/engine/api.ts'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { EnqueueParams } from '../../../src/model/enqueue.ts'
import type { LeaseFetch, LeaseReport, LeaseSettled } from '../../../src/model/leases.ts'
import type { RunRow } from '../../../src/model/rows.ts'
import type { Failure } from '../../../src/net/marking.ts'
import type { Json } from '../../../src/net/net.ts'
import { Drive, type Place } from '../drive.ts'

export class HttpWorker {
  readonly d: Drive

  private constructor(d: Drive) {
    this.d = d
  }

  static async open(place: Place, options: Partial<EngineOptions> = {}): Promise<HttpWorker> {
    return new HttpWorker(await Drive.open(place, options))
  }

  get engine(): Drive['engine'] {
    return this.d.engine
  }

  async enqueue(params: Partial<EnqueueParams> = {}): Promise<string> {
    const [made] = await this.engine.enqueue([{ type: 'x', payload: [], ...params }])
    return (made as { id: string }).id
  }

  fetch(params: Partial<LeaseFetch> = {}): Promise<readonly RunRow[]> {
    return this.engine.leases.fetch({
      queues: ['default'],
      types: null,
      limit: 10,
      holder: 'w1',
      runtime: null,
      tenant: null,
      leaseMs: () => 30_000,
      waitMs: 0,
      ...params,
    })
  }

  async fetchOne(params: Partial<LeaseFetch> = {}): Promise<RunRow> {
    const [run] = await this.fetch({ limit: 1, ...params })
    if (run === undefined) throw new Error('nothing to fetch')
    return run
  }

  async settle(
    runId: string,
    outcome: LeaseReport['outcome'],
    fence: Partial<LeaseReport> = {},
  ): Promise<LeaseSettled | PetrelError> {
    const [settled] = await this.engine.leases.settle([{ runId, holder: null, attempt: null, ...fence, outcome }])
    return settled as LeaseSettled | PetrelError
  }

  ack(runId: string, result: Json = null, fence: Partial<LeaseReport> = {}): Promise<LeaseSettled | PetrelError> {
    return this.settle(runId, { kind: 'succeeded', result }, fence)
  }

  nack(
    runId: string,
    error: Partial<Failure> = {},
    how: 'policy' | 'retry' | 'discard' | 'dead_letter' = 'policy',
  ): Promise<LeaseSettled | PetrelError> {
    return this.settle(runId, { kind: 'failed', error: { code: 'boom', message: 'it broke', ...error }, how })
  }

  async get(id: string): Promise<RunRow> {
    return (await this.d.store.read.run(id)) as RunRow
  }

  async history(id: string): Promise<string[]> {
    return (await this.d.store.read.runHistory(id)).map((event) => event.type)
  }

  /** All fields of a run that a report could change. */
  async picture(id: string): Promise<unknown> {
    return [await this.get(id), await this.d.store.read.runHistory(id)]
  }

  /** Fetches and acks until nothing is left; returns what was done, in order. */
  async work(): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const runs = await this.fetch({ queues: null })
      if (runs.length === 0) return done
      for (const run of runs) {
        accepted(await this.ack(run.id, null, { holder: run.leasedBy }))
        done.push(run.node ?? run.type)
      }
    }
  }
}

export function accepted(settled: LeaseSettled | PetrelError): LeaseSettled {
  if (settled instanceof PetrelError) throw settled
  return settled
}

export async function until(condition: () => Promise<boolean> | boolean, what: string, ms = 10_000): Promise<void> {
  const giveUp = Date.now() + ms
  while (!(await condition())) {
    if (Date.now() > giveUp) throw new Error(`did not happen: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A policy without jitter: 1 s, 2 s, 4 s … */
export const EXACT = {
  maxAttempts: 3,
  backoff: 'exponential',
  initialMs: 1000,
  coefficient: 2,
  maxMs: 60_000,
  jitter: 0,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
} as const
