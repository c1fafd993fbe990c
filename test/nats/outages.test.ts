/** NATS, its stream or the database fails in the middle: everything completes, and nothing is done twice. */
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { EngineApi } from '../../src/engine/api.ts'
import { postgresKeys, type StepConsumer, sqliteKeys, stepConsumer } from '../../src/nats.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { onBothStores, onPostgres, type Stage } from '../sdk/stores.ts'
import { emptyDatabase, type FreshDatabase, natsUrl } from '../services.ts'
import { OwnNats } from './server.ts'
import { begin, deploy, obliging, onRoad, PAIR, reaches, refused, until } from './stage.ts'

/** The interval for lost commands is short here, instead of half a minute. */
const QUICK = PAIR.replace('resend: 30s', 'resend: 1s')
const SAGAS = 10

describe.skipIf(natsUrl() === null)('an outage', () => {
  let nats: OwnNats
  beforeAll(async () => {
    nats = await OwnNats.start()
  })
  afterAll(() => nats.drop())

  onBothStores('NATS', (stage) => {
    const road = onRoad(stage, () => nats.url)
    const service = serving()

    it('restarted: sagas continue, and every effect exists once', async () => {
      const { petrel, engine } = await road.ready({ url: nats.url })
      await deploy(engine, QUICK)
      const effects = await service.begin(nats.url, road.prefix)
      const ids = await begin(petrel, SAGAS)
      for (let i = 0; i < 3; i++) {
        await nats.kill()
        ids.push(...(await begin(petrel, 2)))
        await new Promise((resolve) => setTimeout(resolve, 300))
        await nats.start()
        ids.push(...(await begin(petrel, 2)))
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      await expectDone(engine, ids, effects)
    }, 60_000)

    it('restarted without any stored data: the stream is created again, lost messages are requested again', async () => {
      const { petrel, engine } = await road.ready({ url: nats.url })
      await deploy(engine, QUICK)
      const effects = await service.begin(nats.url, road.prefix)
      const ids = await begin(petrel, SAGAS)
      await nats.kill()
      nats.wipe()
      await nats.start()
      ids.push(...(await begin(petrel, 2)))
      await expectDone(engine, ids, effects)
      expect(await road.start({ type: 'pair' })).toMatchObject({ ok: true })
    }, 60_000)

    it('absent when the engine starts: it waits, and begins', async () => {
      await nats.kill()
      const { petrel, engine } = await road.open({ url: nats.url })
      await deploy(engine, QUICK)
      const ids = await begin(petrel, 3)
      await new Promise((resolve) => setTimeout(resolve, 300))
      await nats.start()
      const effects = await service.begin(nats.url, road.prefix)
      await expectDone(engine, ids, effects)
    }, 60_000)

    it('its stream deleted, its consumers deleted: created again', async () => {
      const { petrel, engine } = await road.ready({ url: nats.url })
      await deploy(engine, QUICK)
      const effects = await service.begin(nats.url, road.prefix)
      const jsm = await jetstreamManager(road.nc)
      const ids: string[] = []
      const harm = [
        () => jsm.streams.delete(road.names.stream),
        () => jsm.consumers.delete(road.names.stream, 'petrel-step-completed'),
        () => jsm.consumers.delete(road.names.stream, 'petrel-start'),
      ]
      for (const harmed of harm) {
        ids.push(...(await begin(petrel, SAGAS)))
        await harmed()
        await reaches(engine, ids, 'completed')
        ids.push((await road.start({ type: 'pair', request_json: '{}' })).instance_id)
      }
      await expectDone(engine, ids, effects)
    }, 90_000)

    it('plain replies without a stream are lost, and requested again', async () => {
      const { petrel, engine } = await road.ready({ url: nats.url })
      await deploy(engine, QUICK)
      const jsm = await jetstreamManager(road.nc)
      await begin(petrel, 1)
      const command = await until(() => road.seen[0])
      await jsm.streams.delete(road.names.stream)
      road.complete(command, obliging(command))
      road.answer = obliging
      await until(() => road.seen.some(({ subject }) => subject === 'beta.v1.things.make'))
      expect(road.seen[1]?.stepId).toBe(command.stepId)
      await road.settled()
      // On a slow machine it is sent a third time before the second reply is processed.
      const { stepId } = command
      for (const refusal of await refused(engine)) expect(refusal).toMatchObject({ code: 'duplicate', stepId })
    }, 60_000)
  })

  onBothStores('acknowledgements that are lost', (stage) => {
    const road = onRoad(stage, () => nats.url)

    it('a storm of redeliveries changes nothing', async () => {
      const nc = deafTo(await connect({ servers: nats.url }), '$JS.ACK.')
      const lossy = await road.ready({ connection: nc, ackWaitMs: 300 })
      await deploy(lossy.engine, PAIR)
      road.answer = obliging
      const ids = await begin(lossy.petrel, SAGAS)
      await reaches(lossy.engine, ids, 'completed')
      await until(() => deafened(nc) > 5 * SAGAS)
      expect(road.seen).toHaveLength(2 * SAGAS)
      await lossy.close()
      await nc.close()
      const { engine } = await road.ready({ url: nats.url })
      await road.settled()
      await expectResults(engine, ids)
      // The same message again is not a new reply of the service, but servers do not always say that it is the same.
      expect((await refused(engine)).filter(({ code }) => code !== 'duplicate')).toEqual([])
      expect((await refused(engine)).length).toBeLessThan(SAGAS)
    }, 60_000)
  })

  onPostgres('connections to Postgres that are cut', (stage) => {
    const road = onRoad(stage, () => nats.url)
    const service = serving()

    it('engine and service continue, and every effect exists once', async () => {
      const { petrel, engine } = await road.ready({ url: nats.url, ackWaitMs: 2_000 })
      await deploy(engine, QUICK)
      const database = await service.database()
      const effects = await service.begin(nats.url, road.prefix, database.url)
      const ids: string[] = []
      const cutter = setInterval(() => void Promise.all([cut(stage), cutAt(database.url)]).catch(() => {}), 150)
      try {
        for (let i = 0; i < 8; i++) {
          ids.push(...(await insistently(() => begin(petrel, 3))))
          await new Promise((resolve) => setTimeout(resolve, 200))
        }
      } finally {
        clearInterval(cutter)
      }
      await expectDone(engine, ids, effects)
    }, 90_000)

    it('a reply that comes while the database refuses everything is recorded when it is back', async () => {
      const { petrel, engine } = await road.ready({ url: nats.url })
      await deploy(engine, PAIR)
      const ids = await begin(petrel, 3)
      await until(() => road.seen.length === 3)
      const allowed = await refuseConnections(await stage.url())
      for (const command of [...road.seen]) road.complete(command, obliging(command))
      road.answer = obliging
      await new Promise((resolve) => setTimeout(resolve, 1500))
      await allowed()
      await reaches(engine, ids, 'completed')
      await road.settled()
      expect(await refused(engine)).toEqual([])
    }, 60_000)
  })
})

interface Effects {
  /** Step ids of the existing effects. */
  stepIds(): Promise<string[]>
}

/** A service based on the helpers, whose effects are rows. */
function serving() {
  const ending: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end()
  })
  return {
    async database(): Promise<FreshDatabase> {
      const database = await emptyDatabase()
      ending.push(() => database.drop())
      return database
    },
    /** `url`: of a Postgres; without it the effects are in SQLite. */
    async begin(nats: string, prefix: string, url?: string): Promise<Effects> {
      const nc = await connect({
        servers: nats,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 50,
        waitOnFirstConnect: true,
      })
      ending.push(() => nc.close())
      const { consumer, effects, close } =
        url === undefined ? await onSqlite(nc, prefix) : await onPool(nc, prefix, url)
      ending.push(close, () => consumer.stop())
      await nc.flush()
      return effects
    },
  }
}

const SUBJECTS = ['alpha.v1.things.make', 'beta.v1.things.make', 'alpha.v1.things.unmake']

interface Serving {
  readonly consumer: StepConsumer
  readonly effects: Effects
  close(): Promise<void>
}

async function onSqlite(nc: NatsConnection, prefix: string): Promise<Serving> {
  const database = await openDatabase(':memory:')
  database.exec('CREATE TABLE effect (step_id TEXT)')
  const handler = ({ stepId }: { stepId: string }) => {
    database.prepare('INSERT INTO effect VALUES (?)').run(stepId)
    return { made: 1 }
  }
  const handlers = Object.fromEntries(SUBJECTS.map((subject) => [subject, handler]))
  const consumer = stepConsumer(nc, { keys: sqliteKeys({ database }), handlers, prefix })
  const stepIds = async () => (database.prepare('SELECT step_id FROM effect').all() as any[]).map((row) => row.step_id)
  return { consumer, effects: { stepIds }, close: async () => database.close() }
}

async function onPool(nc: NatsConnection, prefix: string, url: string): Promise<Serving> {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  // A connection that is cut while a client uses it.
  pool.on('connect', (client) => client.on('error', () => {}))
  await pool.query('CREATE TABLE effect (step_id uuid)')
  const handler = async ({ tx, stepId }: { tx: pg.PoolClient; stepId: string }) => {
    await tx.query('INSERT INTO effect VALUES ($1)', [stepId])
    return { made: 1 }
  }
  const handlers = Object.fromEntries(SUBJECTS.map((subject) => [subject, handler]))
  const consumer = stepConsumer(nc, { keys: postgresKeys<pg.PoolClient>({ pool }), handlers, prefix })
  const stepIds = async () => (await pool.query('SELECT step_id FROM effect')).rows.map((row) => row.step_id)
  return { consumer, effects: { stepIds }, close: () => pool.end() }
}

/** Every saga completed, and the existing effects are those of its steps, each once. */
async function expectDone(engine: EngineApi, ids: readonly string[], effects: Effects): Promise<void> {
  await until(async () => {
    const rows = await Promise.all(ids.map((id) => engine.queries.sagas.get(id)))
    return rows.every((row) => row?.state === 'completed')
  }, 30_000).catch(async (error) => {
    const rows = await Promise.all(ids.map((id) => engine.queries.sagas.get(id)))
    const left = rows.filter((row) => row?.state !== 'completed')
    throw new Error(`${(error as Error).message}: ${left.length} of ${ids.length} left, ${JSON.stringify(left[0])}`)
  })
  const steps = (await Promise.all(ids.map((id) => engine.queries.sagas.steps(id)))).flat()
  const known = new Set(steps.map(({ id }) => id))
  const stand = (await effects.stepIds()).filter((id) => known.has(id))
  expect(stand.sort()).toEqual([...known].sort())
  expect(known.size).toBe(2 * ids.length)
}

async function expectResults(engine: EngineApi, ids: readonly string[]): Promise<void> {
  const rows = await Promise.all(ids.map((id) => engine.queries.sagas.get(id)))
  expect(rows.map((row) => row?.state)).toEqual(ids.map(() => 'completed'))
}

const swallowed = new WeakMap<NatsConnection, { count: number }>()

/** Everything it publishes under these subjects is lost on the way. */
function deafTo(nc: NatsConnection, under: string): NatsConnection {
  const lost = { count: 0 }
  swallowed.set(nc, lost)
  const publish = nc.publish.bind(nc)
  nc.publish = (subject, ...rest) => {
    if (subject.startsWith(under)) lost.count++
    else publish(subject, ...rest)
  }
  // Acknowledgements use these subjects.
  const inner = (nc as unknown as { protocol: { publish(subject: string, ...rest: unknown[]): void } }).protocol
  const send = inner.publish.bind(inner)
  inner.publish = (subject, ...rest) => {
    if (subject.startsWith(under)) lost.count++
    else send(subject, ...rest)
  }
  return nc
}

function deafened(nc: NatsConnection): number {
  return swallowed.get(nc)?.count ?? 0
}

async function cut(stage: Stage): Promise<void> {
  await cutAt(await stage.url())
}

/** Ends every connection to this database. */
async function cutAt(url: string): Promise<void> {
  await onServer(url, (client, name) =>
    client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]),
  )
}

/** Refuses new connections until the function is called. */
async function refuseConnections(url: string): Promise<() => Promise<void>> {
  const allow = (allowed: boolean) =>
    onServer(url, (client, name) => client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${allowed}`))
  await allow(false)
  await cutAt(url)
  return () => allow(true)
}

async function onServer(url: string, work: (client: pg.Client, name: string) => Promise<unknown>): Promise<void> {
  const server = new URL(url)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  const client = new pg.Client({ connectionString: server.href })
  client.on('error', () => {})
  await client.connect()
  await work(client, name).finally(() => client.end())
}

async function insistently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
