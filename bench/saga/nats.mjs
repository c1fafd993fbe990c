// @ts-check
/** The NATS for the measurement: the one named, or a throw-away one with JetStream on disk. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findNats } from '../../scripts/services/nats.mjs'

/** @returns {Promise<{ url: string, stop(): Promise<void> } | null>} null: none is installed */
export async function natsServer() {
  const named = process.env['PETREL_BENCH_NATS_URL']
  if (named) return { url: named, stop: async () => {} }
  const binary = findNats()
  if (binary === null) return null
  const folder = mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-bench-nats-'))
  const args = ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', join(folder, 'data'), '--ports_file_dir', folder]
  const server = spawn(binary, args, { stdio: 'ignore' })
  const exited = new Promise((resolve) => server.once('exit', resolve))
  const abandon = () => server.kill('SIGKILL')
  process.once('exit', abandon)
  const stop = async () => {
    process.off('exit', abandon)
    server.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  const portsFile = join(folder, `nats-server_${server.pid}.ports`)
  for (let tries = 0; tries < 500; tries++) {
    const url = address(portsFile)
    if (url !== null) return { url, stop }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await stop()
  throw new Error('nats-server did not start')
}

/** @param {string} portsFile @returns {string | null} */
function address(portsFile) {
  try {
    return JSON.parse(readFileSync(portsFile, 'utf8')).nats[0] ?? null
  } catch {
    // Written once it listens.
    return null
  }
}
