/**
 * Workers driven by hand: a session that claims and reports on request, a fetch over leases, and plain SQL beside them.
 */
import pg from 'pg'
import { afterEach } from 'vitest'
import type { EngineApi } from '../../src/engine/api.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import type { Delivery, Reply, Session } from '../../src/worker/port.ts'
import type { Stage } from '../sdk/stores.ts'

/** Only wake-ups move work: a timely backstop would hide a lost wake-up. */
export const NO_POLL = { pollMs: 60_000, heartbeatMs: 60_000, sessionTtlMs: 600_000 }

let reports = 0

/** A worker driven by hand. */
export class ManualWorker {
  readonly delivered: Delivery[] = []
  wakes = 0
  room = 0
  readonly #held = new Set<string>()
  #session: Session | null = null

  static async open(
    engine: EngineApi,
    options: { readonly runtime?: string; readonly types?: readonly string[] } = {},
  ): Promise<ManualWorker> {
    const hand = new ManualWorker()
    const { runtime = 'node', types = null } = options
    hand.#session = await engine.workers.open(
      { name: `${runtime} by hand`, runtime, queues: null, types, concurrency: 10, tenant: null },
      {
        room: () => hand.room,
        deliver: (deliveries) => {
          hand.room -= deliveries.length
          hand.delivered.push(...deliveries)
          for (const { runId } of deliveries) hand.#held.add(runId)
        },
        holding: () => [...hand.#held],
        wake: () => void hand.wakes++,
        stop: () => {},
      },
    )
    return hand
  }

  async claim(limit = 100): Promise<readonly Delivery[]> {
    const claimed = await (this.#session as Session).claim(limit)
    for (const { runId } of claimed) this.#held.add(runId)
    return claimed
  }

  /** Reports that a run has begun. */
  async begin({ runId, epoch }: Delivery): Promise<void> {
    await (this.#session as Session).started([{ runId, epoch, at: Date.now() }])
  }

  /** Returns the run as if it had never been held. */
  drop({ runId }: Delivery): void {
    this.#held.delete(runId)
  }

  async types(limit = 100): Promise<string[]> {
    return (await this.claim(limit)).map((delivery) => delivery.type).sort()
  }

  /** Ends a run; returns the next one, if it was handed over. */
  async succeed(delivery: Delivery, wantNext = true): Promise<Delivery | null> {
    return (await this.report(delivery, wantNext)).next
  }

  /** The same, with the complete reply. */
  async report(delivery: Delivery, wantNext = true): Promise<Reply> {
    const reply = await (this.#session as Session).settle({
      delivery,
      reportId: `hand ${++reports}`,
      startedAt: Date.now(),
      outcome: { kind: 'succeeded', result: 'null' },
      wantNext,
    })
    this.#held.delete(delivery.runId)
    if (reply.next !== null) this.#held.add(reply.next.runId)
    return reply
  }
}

const clients: { end(): Promise<void> }[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
})

/** Plain SQL by a client independent of Petrel. */
export async function plainSql(stage: Stage): Promise<(text: string) => Promise<readonly any[]>> {
  const url = await stage.url()
  if (stage.kind === 'sqlite') {
    const database = await openDatabase(url.slice('sqlite:'.length))
    database.exec('PRAGMA busy_timeout = 5000')
    clients.push({ end: async () => database.close() })
    return async (text) => database.prepare(text).all() as unknown as readonly any[]
  }
  const client = new pg.Client({ connectionString: url, options: '-c search_path=workflow' })
  // The database may be dropped before it is closed.
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return async (text) => (await client.query(text)).rows
}

export async function fetched(
  engine: EngineApi,
  runtime: string | null,
  types: readonly string[] | null = null,
): Promise<string[]> {
  const asked = { queues: null, types, limit: 100, holder: 'http', runtime, tenant: null, waitMs: 0 }
  const runs = await engine.leases.fetch({ ...asked, leaseMs: () => 60_000 })
  return runs.map((run) => run.type).sort()
}
