/**
 * A well-behaved tenant. It uses a running server over HTTP while something else misbehaves, and asserts that it is not
 * affected: every result is correct, every step ran exactly once, and it waited no longer than in calm times.
 *
 *   const neighbour = await Neighbour.of(serving)      or any server's address
 *   await neighbour.calm()                             the baseline, before the misbehaviour
 *   await neighbour.beside(async () => { … })          repeats rounds until the misbehaviour has ended
 *   await neighbour.expectUnaffected()
 *
 * One round consists of three things that depend on different parts of the engine:
 *   chain   three steps, each given the result of the one before: enqueue, claim, settle
 *   delay   a job that is due in a moment: how late it is fetched
 *   lease   a job whose first worker never reports: how late its lease is taken back
 * Between calm() and beside() it does nothing: use that time for faults that briefly affect everybody, such as a
 * failover. The neighbour shares the store and the process with all others, so its bounds are generous; the faults this
 * suite guards against took many seconds, or lasted until a restart.
 */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type Client, client, type Reply } from '../server/serving.ts'

const DELAY_MS = 150
const LEASE_MS = 300
const STEPS = 3

type Kind = 'chain' | 'delay' | 'lease'
type Times = Record<Kind, number[]>
type Job = {
  readonly id: string
  readonly type: string
  readonly attempt: number
  readonly args: readonly unknown[]
  readonly parent_results?: readonly unknown[]
}

export interface NeighbourOptions {
  readonly tenant?: string
  /** Sent with every request: an API key of the tenant, if the server requires one. */
  readonly headers?: Record<string, string>
  /** How much longer than in calm times a single wait may take. */
  readonly slackMs?: number
  /**
   * A clock that jumps ahead ends every lease: a refused report then means that the job is fetched and done again, and
   * recorded once.
   */
  readonly leasesEnd?: boolean
}

export class Neighbour {
  readonly #client: Client
  readonly #queue = `neighbour-${randomUUID().slice(0, 8)}`
  readonly #headers: Record<string, string>
  readonly #slackMs: number
  readonly #leasesEnd: boolean
  readonly #calm = noTimes()
  readonly #beside = noTimes()
  /** Executions by round and step. */
  readonly #executions = new Map<string, number>()
  readonly #leases = new Map<string, { readonly expiresAt: number; again(lateMs: number): void }>()
  readonly #delays = new Map<string, (fetchedAt: number) => void>()
  #working: Promise<void> = Promise.resolve()
  #rounds = 0

  private constructor(to: Client, options: NeighbourOptions) {
    this.#client = to
    this.#headers = options.headers ?? { 'x-ojs-tenant': options.tenant ?? 'neighbour' }
    this.#slackMs = options.slackMs ?? 2_500
    this.#leasesEnd = options.leasesEnd ?? false
  }

  static async of(server: Client | string, options: NeighbourOptions = {}): Promise<Neighbour> {
    return new Neighbour(typeof server === 'string' ? client(server) : server, options)
  }

  /** Rounds in calm times, the baseline for later ones. */
  async calm(rounds = 10): Promise<void> {
    await this.#atWork(async () => {
      // The first ones compile the code and fill the caches.
      for (let i = 0; i < 3; i++) await this.#round(noTimes())
      for (let i = 0; i < rounds; i++) await this.#round(this.#calm)
    })
  }

  /** Repeats rounds while `misbehave` runs, and at least `rounds` times. */
  async beside<T>(misbehave: () => Promise<T>, rounds = 5): Promise<T> {
    let going = true
    const misbehaving = misbehave().finally(() => {
      going = false
    })
    const goingRound = this.#atWork(async () => {
      for (let i = 0; going || i < rounds; i++) await this.#round(this.#beside)
    })
    await Promise.allSettled([misbehaving, goingRound])
    await goingRound
    return misbehaving
  }

  async expectUnaffected(): Promise<void> {
    const twice = [...this.#executions].filter(([, times]) => times !== 1)
    expect(twice, 'steps that did not run exactly once').toEqual([])
    for (const kind of ['chain', 'delay', 'lease'] as const) {
      const [calm, beside] = [this.#calm[kind], this.#beside[kind]]
      expect(beside.length, `${kind}: nothing was measured`).toBeGreaterThan(0)
      const shown = `${kind}: calm ${summary(calm)}, beside the misbehaviour ${summary(beside)}`
      expect(median(beside), shown).toBeLessThan(4 * median(calm) + this.#slackMs / 5)
      expect(Math.max(...beside), shown).toBeLessThan(4 * Math.max(...calm) + this.#slackMs)
    }
  }

  /** With its worker running, which the last job ends: an interrupted fetch could lose its jobs. */
  async #atWork(rounds: () => Promise<void>): Promise<void> {
    this.#working = this.#work()
    this.#working.catch(() => {})
    await rounds()
    const last = { type: 'neighbour.last', args: [this.#rounds], options: { queue: this.#queue } }
    await this.#ask('POST', '/ojs/v1/jobs', last)
    await this.#working
  }

  async #round(times: Times): Promise<void> {
    const round = `${this.#queue}/${this.#rounds++}`
    const done = Promise.all([
      this.#chain(round).then((ms) => times.chain.push(ms)),
      this.#delay(round).then((ms) => times.delay.push(ms)),
      this.#lease(round).then((ms) => times.lease.push(ms)),
    ])
    done.catch(() => {})
    // A worker that failed would leave the round waiting without a reason.
    await Promise.race([done, this.#working.then(() => done)])
  }

  async #chain(round: string): Promise<number> {
    const options = { queue: this.#queue }
    const steps = Array.from({ length: STEPS }, (_, i) => ({ type: 'neighbour.step', args: [round, i], options }))
    const startedAt = performance.now()
    const { id } = (await this.#ask('POST', '/ojs/v1/workflows', { type: 'chain', steps })).body.workflow
    for (;;) {
      const { workflow } = (await this.#ask('GET', `/ojs/v1/workflows/${id}`)).body
      if (workflow.state === 'completed') break
      expect(workflow.state, `the neighbour's chain: ${JSON.stringify(workflow)}`).toMatch(/running|pending/)
      await pause(10)
    }
    const ms = performance.now() - startedAt
    const { workflow } = (await this.#ask('GET', `/ojs/v1/workflows/${id}`)).body
    const last = (await this.#ask('GET', `/ojs/v1/jobs/${workflow.steps.at(-1).job_id}`)).body.job
    expect(last.result).toEqual({ round, done: STEPS })
    return ms
  }

  async #delay(round: string): Promise<number> {
    const fetched = new Promise<number>((resolve) => this.#delays.set(round, resolve))
    const options = { queue: this.#queue, scheduled_at: `+PT${DELAY_MS / 1000}S` }
    // Due this long after the server received it, which is after the request was sent.
    const dueAt = performance.now() + DELAY_MS
    await this.#ask('POST', '/ojs/v1/jobs', { type: 'neighbour.delay', args: [round], options })
    return Math.max((await fetched) - dueAt, 0)
  }

  async #lease(round: string): Promise<number> {
    const options = { queue: this.#queue, visibility_timeout_ms: LEASE_MS, retry: { max_attempts: 100 } }
    const late = new Promise<number>((resolve) => {
      this.#leases.set(round, { expiresAt: Number.NaN, again: resolve })
    })
    await this.#ask('POST', '/ojs/v1/jobs', { type: 'neighbour.lease', args: [round], options })
    return late
  }

  async #work(): Promise<void> {
    const body = { queues: [this.#queue], count: 10, worker_id: this.#queue, wait_ms: 2_000 }
    for (;;) {
      const jobs = (await this.#ask('POST', '/ojs/v1/workers/fetch', body)).body.jobs as readonly Job[]
      for (const job of jobs) await this.#execute(job)
      if (jobs.some(({ type }) => type === 'neighbour.last')) return
    }
  }

  async #execute(job: Job): Promise<void> {
    const [round, step] = job.args as [string, number]
    const now = performance.now()
    if (job.type === 'neighbour.lease') {
      const known = this.#leases.get(round)
      if (known === undefined) throw new Error(`a job of no round: ${JSON.stringify(job)}`)
      if (Number.isNaN(known.expiresAt)) {
        // The first worker never reports.
        this.#leases.set(round, { ...known, expiresAt: now + LEASE_MS })
        return
      }
      known.again(Math.max(now - known.expiresAt, 0))
    }
    if (job.type === 'neighbour.delay') this.#delays.get(round)?.(now)
    const before = (job.parent_results?.at(-1) ?? { round, done: 0 }) as { round: string; done: number }
    const result = { round: before.round, done: before.done + 1 }
    const { id, attempt } = job
    const report = { job_id: id, worker_id: this.#queue, attempt, result }
    const reply = await this.#send('POST', '/ojs/v1/workers/ack', report)
    // On a busy machine its second lease, as short as the first, may have expired as well: then it is fetched again.
    if ((job.type === 'neighbour.lease' || this.#leasesEnd) && reply.status === 409) return
    expect(reply.status, `the neighbour's ack: ${reply.text}`).toBeLessThan(300)
    const key = `${job.type} ${round} ${step ?? ''}`
    this.#executions.set(key, (this.#executions.get(key) ?? 0) + 1)
  }

  /** Every request of a well-behaved tenant succeeds. */
  async #ask(method: string, path: string, body?: object): Promise<Reply> {
    const reply = await this.#send(method, path, body)
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300)
    return reply
  }

  #send(method: string, path: string, body?: object): Promise<Reply> {
    return this.#client.ask(method, path, { headers: this.#headers, ...(body === undefined ? {} : { body }) })
  }
}

function noTimes(): Times {
  return { chain: [], delay: [], lease: [] }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

function summary(times: readonly number[]): string {
  return `median ${median(times).toFixed(0)} ms, most ${Math.max(...times).toFixed(0)} ms of ${times.length}`
}
