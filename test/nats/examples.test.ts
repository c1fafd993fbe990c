/** The sagas of examples/sagas with their services, each in a separate process, on a NATS of their own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { type Running, root, shell } from '../cli/petrel.ts'
import { freshDatabase, natsUrl, postgresUrl } from '../services.ts'
import { OwnNats } from './server.ts'
import { until } from './stage.ts'

const ROUNDS = process.env['PETREL_TEST_FULL'] === '1' ? 50 : 3
const examples = join(root, 'examples/sagas')
const TRADES = join(examples, 'services/trades.csv')
const noPython = spawnSync('python3', ['--version']).status !== 0

describe.skipIf(natsUrl() === null || noPython)('examples/sagas', () => {
  const cli = shell()
  let nats: OwnNats
  let nc: NatsConnection
  let data: string
  let prefix: string
  const services: ChildProcess[] = []

  beforeAll(async () => {
    nats = await OwnNats.start()
  })
  afterAll(() => nats.drop())

  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'petrel-sagas-'))
    prefix = `t${randomUUID().slice(0, 8)}`
    nc = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 })
    cli.env = {
      PETREL_STORE: `sqlite:${join(data, 'petrel.db')}`,
      PETREL_NATS_URL: nats.url,
      PETREL_NATS_PREFIX: prefix,
    }
  })
  afterEach(async () => {
    for (const service of services.splice(0)) service.kill('SIGKILL')
    await nc.close()
    rmSync(data, { recursive: true, force: true })
  })

  async function serve(...names: string[]): Promise<ChildProcess[]> {
    return Promise.all(names.map((name) => begin(name)))
  }

  /** Resolves when it reports that it is ready. */
  async function begin(name: string): Promise<ChildProcess> {
    const env = { ...process.env, NATS_URL: nats.url, PREFIX: prefix, DATA: data, BATCH_MS: '700' }
    const [command, file] = name === 'ore' ? ['python3', 'ore.py'] : [process.execPath, `${name}.mjs`]
    const service = spawn(command, [join(examples, 'services', file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    services.push(service)
    await new Promise<void>((resolve, reject) => {
      service.stdout?.on('data', (text) => String(text).includes('ready') && resolve())
      service.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
    })
    return service
  }

  async function engine(): Promise<Running> {
    const running = cli.start('server', '--port', '0', '--json')
    await running.until(/"event":"ready"/)
    return running
  }

  async function stop(running: Running, signal: NodeJS.Signals): Promise<void> {
    running.child.kill(signal)
    await running.ended
  }

  const deploy = async (name: string) => {
    expect((await cli.petrel('deploy', join(examples, `${name}.saga.yaml`))).code).toBe(0)
  }

  /** By a message on NATS, which waits there for an engine. */
  async function start(type: string, request: object): Promise<string> {
    const id = randomUUID()
    const body = JSON.stringify({ type, instance_id: id, request_json: JSON.stringify(request) })
    await jetstream(nc).publish(`${prefix}.workflow.v1.start`, body)
    return id
  }

  async function status(id: string): Promise<any> {
    const message = JSON.stringify({ workflow_instance_id: id })
    return (await nc.request(`${prefix}.workflow.v1.status`, message, { timeout: 5000 })).json()
  }

  /** Polls until it has ended; there may be no engine for a while. */
  async function ended(id: string, ms = 20_000): Promise<any> {
    return until(async () => {
      const shown = await status(id).catch(() => null)
      return shown?.saga != null && shown.saga.completed_at !== null ? shown : null
    }, ms)
  }

  async function rows(service: string, sql: string): Promise<any[]> {
    const database = await openDatabase(join(data, `${service}.db`))
    try {
      database.exec('PRAGMA busy_timeout = 5000')
      return database
        .prepare(sql)
        .all()
        .map((row) => ({ ...(row as object) }))
    } finally {
      database.close()
    }
  }

  it('provision_parties: a party, an account and a link', async () => {
    await serve('refdata', 'iam')
    const server = await engine()
    await deploy('provision_parties')
    const shown = await ended(await start('provision_parties', { party: 'Acme', email: 'ada@acme.test' }))
    expect(shown.saga).toMatchObject({ state: 'completed', current_step_index: 3, error: null })
    const [party, account, link] = shown.steps.map(({ id }: { id: string }) => id)
    expect(await rows('refdata', 'SELECT * FROM party')).toEqual([
      { party_id: 1, name: 'Acme', country: 'GB', tenant: null, step_id: party },
    ])
    expect(await rows('iam', 'SELECT * FROM account')).toEqual([
      { account_id: 1, email: 'ada@acme.test', step_id: account },
    ])
    expect(await rows('iam', 'SELECT * FROM account_party')).toEqual([{ account_id: 1, party_id: 1, step_id: link }])
    expect(shown.steps.every((step: any) => step.command_published_at !== null && step.completed_at !== null)).toBe(
      true,
    )
    await stop(server, 'SIGTERM')
    expect((await server.ended).code).toBe(0)
  }, 60_000)

  it('provision_parties: all or nothing', async () => {
    await serve('refdata', 'iam')
    await engine()
    await deploy('provision_parties')
    const shown = await ended(await start('provision_parties', { party: 'Acme', email: 'nobody' }))
    expect(shown.saga).toMatchObject({ state: 'compensated', error: expect.stringContaining('no email address') })
    expect(await rows('refdata', 'SELECT * FROM party')).toEqual([])
    expect(shown.steps.map((step: any) => [step.step_index, step.name, step.state])).toEqual([
      [0, 'save_party', 'completed'],
      [1, 'save_account', 'failed'],
      [-1, 'save_party', 'completed'],
    ])
  }, 60_000)

  it('ore_import: imported and published, or rolled back, by a service in Python', async () => {
    await serve('ore')
    await engine()
    await deploy('ore_import')
    const good = await ended(await start('ore_import', { file: TRADES, portfolio: 'main' }))
    expect(good.saga).toMatchObject({ state: 'completed' })
    expect(good.steps[0].response).toEqual({ import_id: 1, trades: 3 })
    const frozen = await ended(await start('ore_import', { file: TRADES, portfolio: 'frozen' }))
    expect(frozen.saga).toMatchObject({ state: 'compensated', error: expect.stringContaining('frozen') })
    const missing = await ended(await start('ore_import', { file: join(data, 'none.csv'), portfolio: 'main' }))
    expect(missing.saga).toMatchObject({ state: 'compensated', error: expect.stringContaining('none.csv') })
    expect(await rows('ore', 'SELECT import_id, portfolio, published FROM import')).toEqual([
      { import_id: 1, portfolio: 'main', published: 1 },
    ])
    expect(await rows('ore', 'SELECT count(*) AS n FROM trade')).toEqual([{ n: 3 }])
  }, 60_000)

  it('report_execution: six steps, one of which takes arbitrarily long, whichever process is killed meanwhile', async () => {
    const [, compute] = await serve('reporting', 'compute', 'ore')
    const first = await engine()
    await deploy('report_execution')
    const id = await start('report_execution', { report: 'xva' })
    await until(async () => (await status(id).catch(() => null))?.steps?.some((s: any) => s.name === 'wait_compute'))
    await until(async () => (await rows('compute', 'SELECT * FROM waiting')).length === 1)
    await stop(first, 'SIGKILL')
    compute?.kill('SIGKILL')
    await serve('compute')
    await engine()
    const shown = await ended(id, 40_000)
    expect(shown.saga).toMatchObject({ state: 'completed', current_step_index: 6 })
    expect(shown.steps.map((step: any) => step.name)).toEqual([
      'gather_inputs',
      'prepare_package',
      'submit_compute',
      'wait_compute',
      'process_results',
      'finalise',
    ])
    expect(await rows('reporting', 'SELECT name, result_id FROM report')).toEqual([{ name: 'xva', result_id: 1 }])
    expect(await rows('compute', 'SELECT batch_id FROM batch')).toEqual([{ batch_id: 1 }])
  }, 90_000)

  it('the service in Python: an effect once, whatever is delivered twice, also after a restart of NATS', async () => {
    await (await jetstreamManager(nc)).streams.add({
      name: prefix,
      subjects: [`${prefix}.workflow.v1.events.step-completed`],
    })
    await serve('ore')
    const answers = async (count: number) => {
      const consumer = await jetstream(nc).consumers.get(prefix)
      const kept: any[] = []
      for (let i = 0; i < count; i++) kept.push((await consumer.next({ expires: 5000 }))?.json())
      return kept
    }
    const stepId = randomUUID()
    const command = (body: string, more: object = {}) => {
      const given = headers()
      const about = { 'X-Workflow-Step-Id': stepId, 'X-Workflow-Instance-Id': randomUUID(), ...more }
      for (const [name, value] of Object.entries(about)) given.set(name, value as string)
      nc.publish(`${prefix}.ore.v1.packages.prepare`, body, { headers: given })
    }
    nc.publish(`${prefix}.ore.v1.packages.prepare`, '{}')
    for (let i = 0; i < 3; i++) command('{"bundle_id": 4}')
    command('{"bundle_id":', { 'X-Workflow-Step-Id': randomUUID() })
    const given = await answers(4)
    expect(given.map(({ success, result_json }) => [success, result_json])).toEqual([
      [true, '{"package_id": 1}'],
      [true, '{"package_id": 1}'],
      [true, '{"package_id": 1}'],
      [false, ''],
    ])
    await nats.kill()
    await nats.start()
    const kept = async () => (await (await jetstreamManager(nc)).streams.info(prefix)).state.messages
    await until(async () => {
      command('{"bundle_id": 4}')
      // The connection, or JetStream, may not be back yet.
      return (await kept().catch(() => 0)) > 4
    })
    expect(await rows('ore', 'SELECT bundle_id, step_id FROM package')).toEqual([{ bundle_id: 4, step_id: stepId }])
  }, 60_000)

  it.skipIf(postgresUrl() === null)(
    'two engines: one is killed, the other continues alone',
    async () => {
      const database = await freshDatabase()
      cli.env = { ...cli.env, PETREL_STORE: database.url }
      try {
        await serve('refdata', 'iam')
        const [killed, left] = await Promise.all([engine(), engine()])
        await deploy('provision_parties')
        const ids: string[] = []
        for (let i = 0; i < 40; i++) {
          ids.push(await start('provision_parties', { party: `p${i}`, email: 'a@b' }))
          if (i === 20) await stop(killed, 'SIGKILL')
        }
        const ends = await Promise.all(ids.map((id) => ended(id, 60_000)))
        expect(ends.map(({ saga }) => saga.state)).toEqual(ids.map(() => 'completed'))
        const stand = (await rows('refdata', 'SELECT step_id FROM party')).map((row) => row.step_id)
        expect(stand.sort()).toEqual(ends.map(({ steps }) => steps[0].id).sort())
        await stop(left, 'SIGTERM')
      } finally {
        await database.drop()
      }
    },
    120_000,
  )

  it.each(['sqlite', ...(postgresUrl() === null ? [] : ['postgres'])])(
    `${ROUNDS} engines killed one after the other on %s: every saga ends correctly, every effect exists once`,
    async (store) => {
      const database = store === 'postgres' ? await freshDatabase() : null
      if (database !== null) cli.env = { ...cli.env, PETREL_STORE: database.url }
      try {
        await serve('refdata', 'iam')
        const good: string[] = []
        const bad: string[] = []
        for (let round = 0; round < ROUNDS; round++) {
          const server = await engine()
          if (round === 0) await deploy('provision_parties')
          for (let i = 0; i < 4; i++)
            good.push(await start('provision_parties', { party: `p${round}.${i}`, email: 'a@b' }))
          bad.push(await start('provision_parties', { party: `bad${round}`, email: 'nobody' }))
          // Somewhere between before the first start and after the last reply.
          await new Promise((resolve) => setTimeout(resolve, (round * 37) % 400))
          await stop(server, 'SIGKILL')
        }
        const last = await engine()
        const ends = await Promise.all([...good, ...bad].map((id) => ended(id, 60_000)))
        const states = ends.map(({ saga }) => saga.state)
        expect(states).toEqual([...good.map(() => 'completed'), ...bad.map(() => 'compensated')])
        const steps = ends.filter(({ saga }) => saga.state === 'completed').flatMap((end) => end.steps)
        const idsOf = (name: string) =>
          steps
            .filter((step) => step.name === name)
            .map(({ id }) => id)
            .sort()
        const standing = async (service: string, table: string) =>
          (await rows(service, `SELECT step_id FROM ${table}`)).map((row) => row.step_id).sort()
        expect(await standing('refdata', 'party')).toEqual(idsOf('save_party'))
        expect(await standing('iam', 'account')).toEqual(idsOf('save_account'))
        expect(await standing('iam', 'account_party')).toEqual(idsOf('link_account_party'))
        expect(idsOf('save_party')).toHaveLength(good.length)
        await stop(last, 'SIGTERM')
      } finally {
        await database?.drop()
      }
    },
    600_000,
  )
})
