// @ts-check
/**
 * Keeps the throw-away servers: starts those it is given binaries for, prints their addresses as one line of JSON,
 * and stops them and removes their folder when its standard input ends or it receives a signal to terminate.
 */
import * as fs from 'node:fs'
import { startNats } from './nats.mjs'
import { startPostgres } from './postgres.mjs'
import { spawnServer } from './server.mjs'
import { makeFolder, unprivilegedUser } from './unprivileged.mjs'

const binaries = JSON.parse(process.argv[2] ?? '{}')
const user = unprivilegedUser()
const folder = makeFolder(user)

/** @type {import('./server.mjs').Server[]} */
const servers = []
let stopping = false

/** @param {Omit<import('./server.mjs').ServerParams, 'folder' | 'user'>} params */
function launch(params) {
  if (stopping) throw new Error('stopping')
  const server = spawnServer({ ...params, folder, user })
  servers.push(server)
  return server
}

/** @param {number} exitCode */
async function stop(exitCode) {
  if (stopping) return
  stopping = true
  await Promise.all(servers.map((server) => server.stop()))
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(exitCode)
}

process.stdin.resume()
process.stdin.once('close', () => void stop(0))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void stop(0))
// The reader of the line may be gone already; stdin reports its end.
process.stdout.on('error', () => {})

try {
  const [postgresUrl, natsUrl] = await Promise.all([
    binaries.postgres ? startPostgres({ binaries: binaries.postgres, folder, user, launch }) : null,
    binaries.nats ? startNats({ binary: binaries.nats, folder, launch }) : null,
  ])
  process.stdout.write(`${JSON.stringify({ postgresUrl, natsUrl })}\n`)
} catch (error) {
  if (!stopping) console.error(error instanceof Error ? error.message : error)
  await stop(1)
}
