/** A NATS server without JetStream: one clear error, and no flood of them. */
import { afterEach, describe, expect, it } from 'vitest'
import { Petrel } from '../../src/index.ts'
import { openSagaTransport } from '../../src/nats.ts'
import { natsUrl } from '../services.ts'
import { OwnNats } from './server.ts'
import { until } from './stage.ts'

describe.skipIf(natsUrl() === null)('NATS without JetStream', () => {
  const undo: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const stop of undo.splice(0).reverse()) await stop()
  })

  it('is reported once, in a sentence with the remedy', async () => {
    const nats = await OwnNats.start([])
    undo.push(() => nats.drop())
    const petrel = await Petrel.open('sqlite::memory:')
    undo.push(() => petrel.close())
    const lines: { readonly level: string; readonly message: string }[] = []
    let looks = 0
    const log = (level: string) => (_: object, message: string) => void lines.push({ level, message })
    const logger = { debug: () => {}, info: log('info'), warn: log('warn'), error: log('error') }
    const transport = await openSagaTransport({ petrel, url: nats.url, logger })
    undo.push(() => transport.close())
    await until(() => transport.problem !== null)
    // The connection is retried repeatedly; nothing more is logged.
    await until(() => ++looks > 100)
    expect(transport.problem).toMatch(/no JetStream.*-js/)
    expect(lines).toEqual([{ level: 'error', message: transport.problem }])
  })
})
