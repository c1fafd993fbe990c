/** The helpers for domain services: an effect happens once, and a reply is sent until it has arrived. */
import { randomUUID } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  accepted,
  NoAnswer,
  postgresKeys,
  publishStepCompletion,
  type StepConsumer,
  type StepHandler,
  type StepKeys,
  sqliteKeys,
  stepConsumer,
  withWarnings,
} from '../../src/nats.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { emptyDatabase, type FreshDatabase, natsUrl, postgresUrl } from '../services.ts'
import { OwnNats } from './server.ts'

const SUBJECT = 'ledger.v1.entries.post'
const step = () => ({ stepId: randomUUID(), instanceId: randomUUID() })

describe.skipIf(natsUrl() === null)('publishStepCompletion', () => {
  let nats: OwnNats
  let nc: NatsConnection

  beforeEach(async () => {
    nats = await OwnNats.start()
    nc = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 })
  })
  afterEach(async () => {
    await nc.close()
    await nats.drop()
  })

  it('sends the message of the protocol, and resolves when the stream has stored it', async () => {
    const messages = await keep(nc, 'workflow.v1.events.step-completed')
    const ids = step()
    await publishStepCompletion(nc, { ...ids, result: { party_id: 7 } })
    await publishStepCompletion(nc, { ...ids, outcome: 'failed', error: 'no "such" party' })
    const log = [{ level: 'warn' as const, message: 'slow' }]
    await publishStepCompletion(nc, { ...ids, outcome: 'completed_with_warnings', log })
    const about = { workflow_instance_id: ids.instanceId, step_id: ids.stepId }
    expect(await messages(3)).toEqual([
      { ...about, success: true, result_json: '{"party_id":7}', error_message: '' },
      { ...about, success: false, result_json: '', error_message: 'no "such" party' },
      { ...about, success: true, result_json: '', error_message: '', outcome: 'completed_with_warnings', log },
    ])
  })

  it('waits for a stream that does not exist yet, and does not publish twice', async () => {
    const published = publishStepCompletion(nc, step(), { prefix: 'later' })
    await new Promise((resolve) => setTimeout(resolve, 300))
    const messages = await keep(nc, 'later.workflow.v1.events.step-completed')
    await published
    expect(await messages(1)).toHaveLength(1)
  })

  it('continues across a restart of NATS', async () => {
    const messages = await keep(nc, 'workflow.v1.events.step-completed')
    await nats.kill()
    const published = Promise.all(Array.from({ length: 20 }, () => publishStepCompletion(nc, step())))
    await new Promise((resolve) => setTimeout(resolve, 500))
    await nats.start()
    await published
    expect(await messages(20)).toHaveLength(20)
  })

  it('rejects after failing for too long, when aborted, or when it can never succeed', async () => {
    await expect(publishStepCompletion(nc, step(), { giveUpMs: 200 })).rejects.toThrow()
    const abort = new AbortController()
    const aborted = expect(publishStepCompletion(nc, step(), { signal: abort.signal })).rejects.toThrow()
    abort.abort()
    await aborted
    const large = { ...step(), result: 'x'.repeat(2_000_000) }
    await expect(publishStepCompletion(nc, large)).rejects.toThrow(/max_payload/)
  })
})

/** A ledger in either database. */
interface Ledger {
  readonly keys: StepKeys<never>
  /** A handler that writes one entry, then calls `after`. */
  post(after: () => unknown): StepHandler<never>
  /** Handles a command with a handler that writes, then fails. */
  entries(): Promise<string[]>
  storedKeys(): Promise<number>
  close(): Promise<void>
}

async function postgresLedger(): Promise<Ledger> {
  const database: FreshDatabase = await emptyDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 10 })
  pool.on('error', () => {})
  await pool.query('CREATE TABLE entry (id bigserial, step_id uuid)')
  return {
    keys: postgresKeys({ pool }) as unknown as StepKeys<never>,
    post: (after) =>
      (async ({ tx, stepId }: { tx: pg.PoolClient; stepId: string }) => {
        await tx.query('INSERT INTO entry (step_id) VALUES ($1)', [stepId])
        // Time for the others to arrive.
        await tx.query('SELECT pg_sleep(0.05)')
        return after()
      }) as unknown as StepHandler<never>,
    entries: async () => (await pool.query('SELECT step_id FROM entry')).rows.map((row) => row.step_id),
    storedKeys: async () => Number((await pool.query('SELECT count(*) FROM petrel_step')).rows[0].count),
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}

async function sqliteLedger(): Promise<Ledger> {
  const database = await openDatabase(':memory:')
  database.exec('CREATE TABLE entry (id INTEGER PRIMARY KEY, step_id TEXT)')
  const all = (sql: string) => database.prepare(sql).all() as unknown as { [column: string]: unknown }[]
  return {
    keys: sqliteKeys({ database }) as unknown as StepKeys<never>,
    post: (after) =>
      (({ tx, stepId }: { tx: typeof database; stepId: string }) => {
        tx.prepare('INSERT INTO entry (step_id) VALUES (?)').run(stepId)
        return after()
      }) as unknown as StepHandler<never>,
    entries: async () => all('SELECT step_id FROM entry').map((row) => row['step_id'] as string),
    storedKeys: async () => all('SELECT * FROM petrel_step').length,
    close: async () => database.close(),
  }
}

const LEDGERS = [
  { name: 'postgres', open: postgresLedger, missing: postgresUrl() === null },
  { name: 'sqlite', open: sqliteLedger, missing: false },
]

for (const { name, open, missing } of LEDGERS) {
  describe.skipIf(missing || natsUrl() === null)(`a domain service on ${name}`, () => {
    let ledger: Ledger
    let nc: NatsConnection
    let prefix: string
    let answers: Awaited<ReturnType<typeof keep>>
    const consumers: StepConsumer[] = []

    beforeEach(async () => {
      ledger = await open()
      nc = await connect({ servers: natsUrl() as string })
      prefix = `t${randomUUID().slice(0, 8)}`
      answers = await keep(nc, `${prefix}.workflow.v1.events.step-completed`)
    })
    afterEach(async () => {
      await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()))
      await (await jetstreamManager(nc)).streams.delete(streamOf(`${prefix}.workflow.v1.events.step-completed`))
      await nc.close()
      await ledger.close()
    })

    function serve(handler: StepHandler<never>, also: { readonly logger?: never } = {}): StepConsumer {
      const consumer = stepConsumer(nc, { keys: ledger.keys, handlers: { [SUBJECT]: handler }, prefix, ...also })
      consumers.push(consumer)
      return consumer
    }

    function command({ stepId, instanceId }: ReturnType<typeof step>, body: unknown = { amount: 5 }): void {
      const given = headers()
      given.set('X-Workflow-Step-Id', stepId)
      given.set('X-Workflow-Instance-Id', instanceId)
      nc.publish(`${prefix}.${SUBJECT}`, JSON.stringify(body), { headers: given })
    }

    it('has an effect once, however many commands arrive at once, and answers each', async () => {
      let calls = 0
      serve(ledger.post(() => ({ entry: ++calls })))
      const ids = step()
      for (let i = 0; i < 10; i++) command(ids)
      const given = await answers(10)
      expect(new Set(given.map(({ result_json }) => result_json))).toEqual(new Set(['{"entry":1}']))
      expect(given.every(({ step_id, success }) => step_id === ids.stepId && success === true)).toBe(true)
      expect(await ledger.entries()).toEqual([ids.stepId])
      expect(calls).toBe(1)
    })

    it('shares the commands of a group, and still has each effect once', async () => {
      for (let i = 0; i < 3; i++) serve(ledger.post(() => null))
      const all = Array.from({ length: 20 }, step)
      for (const ids of [...all, ...all]) command(ids)
      await answers(40)
      expect((await ledger.entries()).sort()).toEqual(all.map(({ stepId }) => stepId).sort())
    })

    it('leaves neither effect nor key when it fails, gives the reason, and can be retried', async () => {
      let fails = true
      serve(
        ledger.post(() => {
          if (fails) throw new Error('the ledger is closed')
          return 'posted'
        }),
      )
      const ids = step()
      command(ids)
      expect(await answers(1)).toMatchObject([
        { success: false, error_message: 'the ledger is closed', result_json: '' },
      ])
      expect([await ledger.entries(), await ledger.storedKeys()]).toEqual([[], 0])
      fails = false
      command(ids)
      expect((await answers(2)).at(-1)).toMatchObject({ success: true, result_json: '"posted"' })
      expect([await ledger.entries(), await ledger.storedKeys()]).toEqual([[ids.stepId], 1])
    })

    it('sends no reply if the handler returns none, or if the message is not a command', async () => {
      let calls = 0
      serve(
        ledger.post(() => {
          if (++calls === 1) throw new NoAnswer('ask me again')
          return calls
        }),
      )
      nc.publish(`${prefix}.${SUBJECT}`, '{}')
      const ids = step()
      command(ids)
      while (calls === 0) await new Promise((resolve) => setTimeout(resolve, 10))
      command(ids)
      expect(await answers(1)).toMatchObject([{ success: true, result_json: '2' }])
      expect(await ledger.entries()).toEqual([ids.stepId])
    })

    it('fails invalid JSON', async () => {
      serve(ledger.post(() => null))
      const given = headers()
      given.set('X-Workflow-Step-Id', randomUUID())
      given.set('X-Workflow-Instance-Id', randomUUID())
      nc.publish(`${prefix}.${SUBJECT}`, '{"amount":', { headers: given })
      expect(await answers(1)).toMatchObject([{ success: false }])
      expect(await ledger.storedKeys()).toBe(0)
    })

    it('answers with warnings, and with the same when asked again', async () => {
      serve(
        ledger.post(() => withWarnings({ entry: 1 }, [{ level: 'warn', message: 'rounded', context: { by: 0.1 } }])),
      )
      const ids = step()
      command(ids)
      await answers(1)
      command(ids)
      const [first, second] = await answers(2)
      expect(first).toMatchObject({ success: true, outcome: 'completed_with_warnings', result_json: '{"entry":1}' })
      expect(first?.['log']).toEqual([{ level: 'warn', message: 'rounded', context: { by: 0.1 } }])
      expect(second).toEqual(first)
    })

    it('accepts a command that takes long, once, and answers when it has ended', async () => {
      let calls = 0
      const consumer = serve(
        ledger.post(() => {
          calls++
          return accepted()
        }),
      )
      const [ended, failed] = [step(), step()]
      for (const ids of [ended, ended, failed]) command(ids)
      while ((await ledger.entries()).length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
      await consumer.complete({ ...ended, result: { total: 3 } })
      await consumer.complete({ ...failed, outcome: 'failed', error: 'the grid burnt down' })
      expect(await answers(2)).toMatchObject([
        { success: true, result_json: '{"total":3}' },
        { success: false, error_message: 'the grid burnt down' },
      ])
      command(ended)
      expect((await answers(3)).at(-1)).toMatchObject({ success: true, result_json: '{"total":3}' })
      expect([calls, await ledger.storedKeys()]).toEqual([2, 1])
    })
  })
}

it('refuses an effect on SQLite that would outlive its transaction', async () => {
  const database = await openDatabase(':memory:')
  const keys = sqliteKeys({ database })
  const answer = { outcome: 'completed', result: null, log: [] } as const
  await expect(keys.once(randomUUID(), async () => answer)).rejects.toThrow(/synchronous/)
  expect(database.prepare('SELECT count(*) AS n FROM petrel_step').get()).toEqual({ n: 0 })
  expect(await keys.once(randomUUID(), () => answer)).toEqual({ answer, repeated: false })
  expect(() => sqliteKeys({ database, table: 'a; drop' })).toThrow(/not the name of a table/)
  database.close()
})

/** Keeps the messages published on a subject; the function waits for this many. */
async function keep(
  nc: NatsConnection,
  subject: string,
): Promise<(least: number) => Promise<Record<string, unknown>[]>> {
  const name = streamOf(subject)
  await (await jetstreamManager(nc)).streams.add({ name, subjects: [subject] })
  const kept: Record<string, unknown>[] = []
  return async (least) => {
    const consumer = await jetstream(nc).consumers.get(name, { opt_start_seq: kept.length + 1 })
    const giveUpAt = performance.now() + 10_000
    while (kept.length < least && performance.now() < giveUpAt) {
      const message = await consumer.next({ expires: 1000 })
      if (message !== null) kept.push(message.json())
    }
    const { num_pending: more } = await consumer.info()
    if (kept.length !== least || more > 0) throw new Error(`${kept.length} and ${more} more completions, not ${least}`)
    return kept
  }
}

function streamOf(subject: string): string {
  return `KEEP_${subject.replaceAll('.', '_')}`
}
