// @ts-check
/** The services of a saga in a separate process: they reply at once, keep no keys, and echo. Ends with its parent. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect } from '@nats-io/transport-node'

const [dist = '', servers = '', prefix = '', subjects = ''] = process.argv.slice(2)
const { stepConsumer } = await import(pathToFileURL(join(dist, 'nats/index.js')).href)

const nc = await connect({ servers })
const answer = (/** @type {{ body: unknown }} */ { body }) => body
const consumer = stepConsumer(nc, {
  prefix,
  atOnce: 256,
  keys: {
    once: async (/** @type {string} */ _, /** @type {(tx: null) => unknown} */ effect) => ({
      answer: await effect(null),
      repeated: false,
    }),
    answer: async () => {},
  },
  handlers: Object.fromEntries(subjects.split(',').map((subject) => [subject, answer])),
})
nc.subscribe(`${prefix}.echo`, {
  callback: (_, message) => {
    message.respond(message.data)
  },
})
await nc.flush()
process.once('disconnect', async () => {
  await consumer.stop()
  await nc.close()
})
process.send?.('ready')
