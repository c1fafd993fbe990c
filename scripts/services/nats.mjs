// @ts-check
/** A throw-away nats-server with JetStream, in a new folder, on a port of its own choice. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { findProgram } from './server.mjs'

export function findNats() {
  return findProgram('nats-server')
}

/**
 * @param {{ binary: string, folder: string, launch: import('./server.mjs').Launch }} params
 * @returns {Promise<string>} its URL
 */
export async function startNats({ binary, folder, launch }) {
  const server = launch({
    command: binary,
    args: ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', join(folder, 'nats'), '--ports_file_dir', folder],
    logFile: join(folder, 'nats.log'),
    stopSignal: 'SIGTERM',
  })
  // The server writes its addresses there once it listens.
  const portsFile = join(folder, `nats-server_${server.pid}.ports`)
  return server.ready(() => firstAddress(portsFile))
}

/** @param {string} portsFile @returns {string | null} */
function firstAddress(portsFile) {
  try {
    return JSON.parse(fs.readFileSync(portsFile, 'utf8')).nats[0] ?? null
  } catch {
    return null
  }
}
