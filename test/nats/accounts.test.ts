/** A NATS with authentication and only the permissions listed in docs/nats.md, and streams created by an operator. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSagaTransport, publishStepCompletion, sqliteKeys, stepConsumer } from '../../src/nats.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { root } from '../cli/petrel.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from '../sdk/stores.ts'
import { natsUrl } from '../services.ts'
import { OwnNats } from './server.ts'
import { begin, deploy, PAIR, reaches, until } from './stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'petrel-accounts-'))
const ENGINE_PUBLISHES = ['alpha.>', 'beta.>', '$JS.API.>', '$JS.ACK.PETREL_SAGA.>', 'workflow.v1.engines', '_INBOX.>']
const ENGINE_HEARS = ['workflow.v1.*', 'workflow.v1.tenants.>', '_INBOX.>']
const SERVICE_PUBLISHES = ['workflow.v1.events.step-completed']
const SERVICE_HEARS = ['alpha.>', 'beta.>', '_INBOX.>']

const CONFIG = `
authorization: {
  users: [
    { user: engine, password: "e:1", permissions: { publish: ${JSON.stringify(ENGINE_PUBLISHES)}, subscribe: ${JSON.stringify(ENGINE_HEARS)} } }
    { user: service, password: s, permissions: { publish: ${JSON.stringify(SERVICE_PUBLISHES)}, subscribe: ${JSON.stringify(SERVICE_HEARS)} } }
    { user: admin, password: a }
  ]
}`

describe.skipIf(natsUrl() === null)('permissions', () => {
  let nats: OwnNats
  const as = (user: string, password: string) => nats.url.replace('//', `//${user}:${password}@`)

  beforeAll(async () => {
    const file = join(folder, 'nats.conf')
    writeFileSync(file, CONFIG)
    nats = await OwnNats.start(['-js', '-c', file])
  })
  afterAll(async () => {
    await nats.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  onBothStores('a saga', (stage) => {
    it('runs with the permissions that docs/nats.md lists', async () => {
      const page = readFileSync(join(root, 'docs/nats.md'), 'utf8')
      for (const subject of [...ENGINE_PUBLISHES.slice(2), ...ENGINE_HEARS, ...SERVICE_PUBLISHES]) {
        expect(page).toContain(`\`${subject}\``)
      }
      const complaints: unknown[] = []
      const complain = (context: object, message: string) => complaints.push([message, context])
      const logger = { debug: () => {}, info: () => {}, warn: complain, error: complain }
      const petrel = await stage.open({ pollMs: 100 })
      await petrel.saga()
      await petrel.work()
      const transport = await openSagaTransport({ petrel, url: as('engine', 'e%3A1'), logger })
      const nc = await connect({ servers: nats.url, user: 'service', pass: 's' })
      const handler = () => ({ made: 1 })
      const consumer = stepConsumer(nc, {
        keys: sqliteKeys({ database: await openDatabase(':memory:') }),
        handlers: { 'alpha.v1.things.make': handler, 'beta.v1.things.make': handler },
        logger,
      })
      const admin = await connect({ servers: nats.url, user: 'admin', pass: 'a' })
      try {
        await transport.ready
        await deploy(engineOf(petrel), PAIR)
        const ids = await begin(petrel, 2)
        await reaches(engineOf(petrel), ids, 'completed')
        const answer = await admin.request('workflow.v1.list', '{}')
        expect(answer.json<any>().sagas).toHaveLength(2)
        expect(complaints).toEqual([])
      } finally {
        await consumer.stop()
        await nc.close()
        await transport.close()
        await (await jetstreamManager(admin)).streams.delete('PETREL_SAGA')
        await admin.close()
      }
    })

    it('reports forbidden operations, and retries refused ones', async () => {
      const complaints: string[] = []
      const complain = (_: object, message: string) => complaints.push(message)
      const logger = { debug: () => {}, info: () => {}, warn: complain, error: complain }
      const petrel = await stage.open({ pollMs: 100 })
      await petrel.saga()
      await petrel.work()
      await deploy(engineOf(petrel), PAIR.replaceAll('alpha.v1', 'gamma.v1'))
      const wrong = await openSagaTransport({ petrel, url: as('engine', 'no'), logger })
      await until(() => complaints.some((message) => message.includes('NATS does not answer')))
      await wrong.close()
      const transport = await openSagaTransport({ petrel, url: as('engine', 'e%3A1'), logger })
      try {
        await transport.ready
        await begin(petrel)
        await until(() => complaints.some((message) => message.includes('NATS refused something')))
      } finally {
        await transport.close()
      }
      const nc = await connect({ servers: nats.url, user: 'service', pass: 's' })
      const publishing = publishStepCompletion(
        nc,
        { stepId: 'a', instanceId: 'b' },
        { prefix: 'elsewhere', giveUpMs: 300 },
      )
      await expect(publishing).rejects.toThrow()
      await nc.close()
    })
  })

  onBothStores('a stream created by the operator', (stage) => {
    it('is used without changes', async () => {
      const admin = await connect({ servers: nats.url, user: 'admin', pass: 'a' })
      const jsm = await jetstreamManager(admin)
      await jsm.streams.delete('PETREL_SAGA').catch(() => {})
      const subjects = ['workflow.v1.events.>', 'workflow.v1.start']
      await jsm.streams.add({ name: 'OURS', subjects, retention: RetentionPolicy.Limits })
      const petrel = await stage.open({ pollMs: 100 })
      await petrel.saga()
      await petrel.work()
      const transport = await openSagaTransport({ petrel, url: as('admin', 'a') })
      try {
        await transport.ready
        await deploy(engineOf(petrel), PAIR)
        const id = '3e3cf4f5-8f43-4c60-8ad3-0b6a7d2b9a01'
        await jetstream(admin).publish('workflow.v1.start', JSON.stringify({ type: 'pair', instance_id: id }))
        await reaches(engineOf(petrel), [id], 'in_progress')
        const { config, num_ack_pending } = await until(() =>
          jsm.consumers.info('OURS', 'petrel-start').catch(() => null),
        )
        expect(config).toMatchObject({ ack_policy: 'explicit', filter_subject: 'workflow.v1.start' })
        expect(num_ack_pending).toBe(0)
        await expect(jsm.streams.info('PETREL_SAGA')).rejects.toThrow(/not found/)
      } finally {
        await transport.close()
        await jsm.streams.delete('OURS')
        await admin.close()
      }
    })
  })
})
