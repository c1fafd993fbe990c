/**
 * A real `petrel server` is killed with SIGKILL repeatedly while clients over HTTP work on batches; the next server on
 * the same store continues. A client that got no answer repeats its request, as any client would.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { type Running, shell } from '../cli/petrel.ts'
import { type Any, batch, Flow, group, job } from '../server/ojs/flow.ts'
import { client } from '../server/serving.ts'
import { postgresUrl } from '../services.ts'
import { audit } from './audit.ts'
import { type StoreKind, TestDatabase } from './database.ts'
import { built } from './process.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 50 : 2
const timeout = full ? 1_200_000 : 120_000
const trap = new URL('trap.mjs', import.meta.url).href

const POINTS = [
  { point: 'before', name: 'when the callbacks are decided and not written' },
  { point: 'during', name: 'while they are being written' },
  { point: 'after', name: 'between the ack of the last job and its callbacks' },
] as const

/** A lost fetch costs an attempt. */
const patient = { retry: { max_attempts: 50, initial_interval: 'PT0.01S', backoff: 'none', jitter: false } }
const CALLBACKS = {
  on_complete: job('on.complete', [], patient),
  on_success: job('on.success', [], patient),
  on_failure: job('on.failure', [], patient),
}
/** The batches that a client creates in a round, and the callbacks that each must lead to. */
const WORK: Readonly<Record<string, { readonly body: Any; readonly fires: readonly string[] }>> = {
  plain: {
    body: batch([job('ok', [1], patient), job('ok', [2], patient), job('ok', [3], patient)], CALLBACKS),
    fires: ['on_complete', 'on_success'],
  },
  failing: {
    body: batch([job('ok', [1], patient), job('bad', [2], patient)], CALLBACKS),
    fires: ['on_complete', 'on_failure'],
  },
  nested: {
    body: batch([group(job('ok', [1], patient), job('ok', [2], patient)), job('ok', [3], patient)], CALLBACKS),
    fires: ['on_complete', 'on_success'],
  },
}

export function ojsCrashSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`petrel server killed with SIGKILL (${kind})`, () => {
    const sh = shell()
    let database: TestDatabase
    let running: Running | null = null

    afterEach(async () => {
      running?.child.kill('SIGKILL')
      await running?.ended
      await database.drop()
    }, 60_000)

    const start = async (asked: Asked, armed: object | null): Promise<Clients> => {
      sh.env = armed === null ? {} : { NODE_OPTIONS: `--import ${trap}`, PETREL_TRAP: JSON.stringify(armed) }
      running = sh.start('server', '--json', '--port', '0', '--rate-limit', '0', '--store', database.url)
      const [, url] = await running.until(/"url":"([^"]+)"/)
      return new Clients(url as string, asked)
    }
    const killed = async (): Promise<void> => {
      running?.child.kill('SIGKILL')
      await running?.ended
      expect(running?.child.signalCode).toBe('SIGKILL')
    }

    const verify = async (asked: Asked, what: string, began: number): Promise<void> => {
      const clients = await start(asked, null)
      await clients.finish()
      expect(await clients.wrong()).toEqual([])
      running?.child.kill('SIGTERM')
      expect((await running?.ended)?.code).toBe(0)
      sh.env = {}
      const doctor = await sh.petrel('doctor', '--store', database.url)
      expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining('nothing found')])
      const { violations, counts } = await audit(database, { effects: false })
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.log(`${kind}, ${what}: ${asked.batches.size} batches in ${seconds} s`, JSON.stringify(counts))
      expect(violations).toEqual([])
    }

    for (const { point, name } of POINTS) {
      it(`6.4.4 ${name}: ${ROUNDS} rounds`, { timeout }, async () => {
        const began = performance.now()
        const dist = built()
        database = await TestDatabase.create(kind)
        const asked = new Asked()
        for (let round = 1; round <= ROUNDS; round++) {
          const clients = await start(asked, { dist, what: 'the finals', point, at: 1 + Math.floor(Math.random() * 5) })
          for (let wave = 1; !clients.gone; wave++) await clients.turn(`r${round}.${wave}`)
          await running?.ended
          expect(running?.child.signalCode).toBe('SIGKILL')
        }
        await verify(asked, name, began)
      })
    }

    it(`6.4.4 at any instant: ${ROUNDS * 2} kills`, { timeout }, async () => {
      const began = performance.now()
      database = await TestDatabase.create(kind)
      const asked = new Asked()
      for (let round = 1; round <= ROUNDS * 2; round++) {
        const clients = await start(asked, null)
        const working = clients.turn(`r${round}`)
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 200))
        await killed()
        await working
      }
      await verify(asked, 'at any instant', began)
    })
  })
}

/** State that the clients keep from one server to the next. */
class Asked {
  /** Workflow id → its entry in WORK. */
  readonly batches = new Map<string, string>()
  /** Unanswered reports by job: sent again to the next server. */
  readonly unanswered = new Map<string, Report>()
}

interface Report {
  readonly path: 'ack' | 'nack'
  readonly body: Any
}

class Clients {
  readonly #flow: Flow
  readonly #asked: Asked
  gone = false

  constructor(url: string, asked: Asked) {
    this.#flow = new Flow(client(url))
    this.#asked = asked
  }

  /** Creates new batches, and runs three workers until nothing is left or the server is gone. */
  async turn(wave: string): Promise<void> {
    for (const name of Object.keys(WORK)) {
      this.#asked.batches.set(`wf_${wave}_${name}`, name)
      await this.#create(`wf_${wave}_${name}`, name)
    }
    await this.#work()
  }

  /** With an id chosen by the client, a repeated request has no further effect. */
  async #create(id: string, name: string): Promise<void> {
    const reply = await this.#ask(() => this.#flow.post({ ...WORK[name]?.body, id }))
    if (reply !== null) expect([201, 409], reply.text).toContain(reply.status)
  }

  async #work(): Promise<void> {
    const { unanswered } = this.#asked
    for (const [id, report] of [...unanswered]) await this.#report(id, report)
    await Promise.all(['worker-1', 'worker-2', 'worker-3'].map((worker) => this.#workAs(worker)))
  }

  async #workAs(worker: string): Promise<void> {
    // Longer than the lease of a job whose fetch was lost.
    for (let idle = 0; idle < 8 && !this.gone; ) {
      const fetched = await this.#ask(() =>
        this.#flow.s.post('/ojs/v1/workers/fetch', {
          queues: ['default'],
          count: 2,
          worker_id: worker,
          visibility_timeout_ms: 500,
          wait_ms: 100,
        }),
      )
      if (fetched === null) return
      expect(fetched.status, fetched.text).toBe(200)
      idle = fetched.body.jobs.length === 0 ? idle + 1 : 0
      await Promise.all(fetched.body.jobs.map((one: Any) => this.#report(one.id, reportOf(one, worker))))
    }
  }

  async #report(id: string, report: Report): Promise<void> {
    const { unanswered } = this.#asked
    unanswered.set(id, report)
    const reply = await this.#ask(() => this.#flow.s.post(`/ojs/v1/workers/${report.path}`, report.body))
    if (reply === null) return
    unanswered.delete(id)
    // 409: an earlier report was recorded although its answer was lost, or the lease has ended in the meantime.
    expect([200, 409], reply.text).toContain(reply.status)
  }

  /** null: the server is not reachable. */
  async #ask<T>(request: () => Promise<T>): Promise<T | null> {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      this.gone = true
      return null
    }
  }

  /** Waits until every workflow has ended, or the time is up. */
  async finish(): Promise<void> {
    const { batches } = this.#asked
    // It is unknown whether the last request before a kill was received.
    for (const [id, name] of batches) await this.#create(id, name)
    for (let tries = 0; tries < 30; tries++) {
      await this.#work()
      const { body } = await this.#flow.s.get('/ojs/v1/workflows?state=running')
      if (body.pagination.total === 0) return
    }
  }

  /** Violations of exactly-once, as sentences: by the published events and the existing jobs. */
  async wrong(): Promise<string[]> {
    const wrong: string[] = []
    const events = await this.#flow.events('workflow.callback_fired,workflow.completed')
    for (const [id, name] of this.#asked.batches) {
      const expected = WORK[name]?.fires.join()
      const own = events.filter((event) => event.workflow_id === id)
      const fired = own.filter((event) => event.type === 'workflow.callback_fired')
      const published = fired.map((event) => event.data.callback_type).sort()
      if (published.join() !== expected) wrong.push(`${id} published ${published.join()} instead of ${expected}`)
      if (own.length - fired.length !== 1) wrong.push(`${id} was completed ${own.length - fired.length} times`)
      const { state, callbacks } = await this.#flow.get(id)
      if (state !== 'completed') wrong.push(`${id} is ${state}`)
      const done = Object.keys(callbacks).filter((callback) => callbacks[callback].state === 'completed')
      if (done.sort().join() !== expected) wrong.push(`${id} did ${done.join()} instead of ${expected}`)
    }
    return wrong
  }
}

function reportOf(one: Any, worker: string): Report {
  const body = { job_id: one.id, worker_id: worker, attempt: one.attempt }
  if (one.type !== 'bad') return { path: 'ack', body: { ...body, result: one.args } }
  return { path: 'nack', body: { ...body, error: { code: 'broken', message: 'as asked', retryable: false } } }
}
