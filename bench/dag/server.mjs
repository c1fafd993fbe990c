// @ts-check
/**
 * A Petrel server in a separate process, like that of `petrel server`. Sends its address by IPC, and ends with its
 * parent.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist = '', url = ''] = process.argv.slice(2)
const { Engine, openStore, startServer } = await import(pathToFileURL(join(dist, 'insides.js')).href)

const store = await openStore(url)
await store.migrate()
const engine = await Engine.open({ store })
const server = await startServer({ version: 'bench', port: 0, engine })
process.once('disconnect', async () => {
  await server.close({ graceMs: 0 })
  await engine.close()
  await store.close()
})
process.send?.({ url: server.url })
