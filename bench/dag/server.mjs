// @ts-check
/** A Petrel server in a process of its own, as `petrel serve` runs one. Tells its address by IPC, ends with its parent. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist = '', url = ''] = process.argv.slice(2)
/** @param {string} path @returns {Promise<any>} */
const internal = (path) => import(pathToFileURL(join(dist, path)).href)

const { openStore } = await internal('store/open.js')
const { Engine } = await internal('engine/engine.js')
const { startServer } = await internal('server/server.js')

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
