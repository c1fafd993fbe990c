/** `--nats`: the output of the commands, and what they run. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteKeys, stepConsumer } from '../../src/nats.ts'
import { namesUnder } from '../../src/notations/saga/nats/names.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { root, shell } from '../cli/petrel.ts'
import { natsUrl } from '../services.ts'
import { OwnNats } from './server.ts'
import { PAIR, until } from './stage.ts'

describe.skipIf(natsUrl() === null)('petrel --nats', () => {
  const cli = shell()
  let nc: NatsConnection
  let stop: () => Promise<void>
  let store = 0

  beforeEach(async () => {
    const prefix = `t${randomUUID().slice(0, 8)}`
    nc = await connect({ servers: natsUrl() as string })
    const database = await openDatabase(':memory:')
    const consumer = stepConsumer(nc, {
      prefix,
      keys: sqliteKeys({ database }),
      handlers: {
        'alpha.v1.things.make': ({ body }) => ({ made: `a ${body.what}` }),
        'alpha.v1.things.unmake': () => null,
        'beta.v1.things.make': ({ body }) => {
          if (body.of === 'a stone') throw new Error('too hard')
          return body
        },
      },
    })
    stop = () => consumer.stop()
    cli.env = { PETREL_STORE: `sqlite:${join(cli.dir, `s${store++}.db`)}`, PETREL_NATS_PREFIX: prefix, NO_COLOR: '1' }
  })
  afterEach(async () => {
    await stop()
    const jsm = await jetstreamManager(nc)
    await jsm.streams.delete(namesUnder(cli.env['PETREL_NATS_PREFIX'] as string).stream).catch(() => {})
    await nc.close()
  })

  it('run executes a saga to its end', async () => {
    const file = cli.write('pair.saga.yaml', PAIR)
    const url = natsUrl() as string
    const done = await cli.petrel('run', file, '--nats', url, '--input', '{"what":"cup"}', '--json')
    expect(done).toMatchObject({ code: 0 })
    expect(done.json().instance.state).toBe('completed')
    const undone = await cli.petrel('run', file, '--nats', url, '--input', '{"what":"stone"}')
    expect(undone).toMatchObject({ code: 1, out: expect.stringContaining('too hard') })
    const alone = await cli.petrel('run', file)
    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining('a saga needs services') })
    expect(alone.err).toContain('--nats')
  }, 60_000)

  it('server, from the environment: deployed sagas run, and a password is not shown', async () => {
    cli.env = { ...cli.env, PETREL_NATS_URL: (natsUrl() as string).replace('//', '//ada:secret@') }
    const server = cli.start('server', '--port', '0')
    await server.until(/sagas on nats:\/\/\*\*\*@.*\d\n/)
    cli.write('pair.saga.yaml', PAIR)
    expect((await cli.petrel('deploy', 'pair.saga.yaml')).code).toBe(0)
    const { out } = await cli.petrel('start', 'pair', '--input', '{"what":"jug"}', '--json')
    const { id } = JSON.parse(out).instance ?? JSON.parse(out)
    const saga = await until(async () => {
      const shown = (await cli.petrel('saga', 'show', id, '--json')).json()
      return shown.saga.state === 'completed' ? shown : null
    })
    expect(saga.steps[1].response).toEqual({ of: 'a jug' })
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  }, 60_000)

  it('worker: sagas of a module are registered and built there', async () => {
    const module = cli.write(
      'sagas.mjs',
      `import { saga } from ${JSON.stringify(join(root, 'dist/index.js'))}
      export const sagas = [saga({ name: 'coded', steps: [
        { name: 'only', subject: 'alpha.v1.things.make', buildCommand: (request) => ({ what: request.what.toUpperCase() }) },
      ] })]`,
    )
    const worker = cli.start('worker', '--handlers', module, '--nats', natsUrl() as string)
    await worker.until(/working on saga\.code\.coded\.v1, saga\.template/)
    await worker.until(/sagas on nats/)
    const { out } = await cli.petrel('start', 'coded', '--input', '{"what":"jug"}', '--json')
    const { id } = JSON.parse(out).instance ?? JSON.parse(out)
    await until(async () => {
      const shown = (await cli.petrel('saga', 'show', id, '--json')).json()
      return shown.saga.state === 'completed' && shown.steps[0].response.made === 'a JUG'
    })
    worker.child.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  }, 60_000)

  it('reports mistakes, and that NATS is not reachable yet', async () => {
    expect(await cli.petrel('server', '--port', '0', '--nats', 'http://x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('not an address of NATS'),
    })
    expect(await cli.petrel('server', '--port', '0', '--nats', 'nats://x', '--nats-prefix', 'a b')).toMatchObject({
      code: 2,
      err: expect.stringContaining('not a prefix'),
    })
    expect(await cli.petrel('worker')).toMatchObject({ code: 2, err: expect.stringContaining('--nats URL') })
    const bad = cli.write('bad.mjs', 'export const sagas = [{}]')
    expect(await cli.petrel('worker', '--handlers', bad)).toMatchObject({
      code: 2,
      err: expect.stringContaining('no saga'),
    })
    const nats = await OwnNats.start()
    await nats.kill()
    const server = cli.start('server', '--port', '0', '--nats', nats.url)
    await server.until(/does not answer yet/)
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    await nats.drop()
  }, 60_000)
})
