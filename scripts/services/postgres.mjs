// @ts-check
/** A throw-away Postgres: default settings, so that fsync is on and measurements mean something, in a new folder. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { bareEnv, findProgram, pathFolders } from './server.mjs'

/** @typedef {{ initdb: string, postgres: string }} PostgresBinaries */

/** Both programs from one folder, so that they are of one version. @returns {PostgresBinaries | null} */
export function findPostgres() {
  for (const folder of binaryFolders()) {
    const initdb = findProgram('initdb', [folder])
    const postgres = findProgram('postgres', [folder])
    if (initdb && postgres) return { initdb, postgres }
  }
  return null
}

function* binaryFolders() {
  yield* pathFolders()
  const debian = '/usr/lib/postgresql'
  if (fs.existsSync(debian)) {
    const versions = fs.readdirSync(debian).sort((a, b) => Number(b) - Number(a))
    yield* versions.map((version) => join(debian, version, 'bin'))
  }
  const asked = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' })
  if (asked.status === 0) yield asked.stdout.trim()
}

/**
 * @param {{
 *   binaries: PostgresBinaries, folder: string,
 *   user: import('./unprivileged.mjs').User, launch: import('./server.mjs').Launch,
 * }} params
 * @returns {Promise<string>} its URL
 */
export async function startPostgres({ binaries, folder, user, launch }) {
  const data = join(folder, 'postgres')
  const password = randomBytes(12).toString('hex')
  initialise({ initdb: binaries.initdb, data, password, folder, user })
  // Another process may take the free port before the server listens on it: then another port is tried.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const server = launch({
      command: binaries.postgres,
      args: ['-D', data, '-p', String(port)],
      logFile: join(folder, 'postgres.log'),
      // SIGQUIT, "immediate": no data is kept, so no checkpoint is needed.
      stopSignal: 'SIGQUIT',
    })
    try {
      await server.ready(() => (isReady(join(data, 'postmaster.pid')) ? true : null))
      return `postgres://petrel:${password}@127.0.0.1:${port}/postgres`
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}

/** @param {{ initdb: string, data: string, password: string, folder: string, user: import('./unprivileged.mjs').User }} params */
function initialise({ initdb, data, password, folder, user }) {
  const passwordFile = join(folder, 'password')
  fs.writeFileSync(passwordFile, password, { mode: 0o600 })
  if (user) fs.chownSync(passwordFile, user.uid, user.gid)
  // Not SCRAM: its handshake takes 6 ms, which a run of all tests pays ten thousand times.
  const args = ['-D', data, '-U', 'petrel', `--pwfile=${passwordFile}`, '--auth=md5']
  // --no-sync skips flushing the empty cluster only; the server itself runs with fsync on.
  args.push('--encoding=UTF8', '--no-locale', '--no-sync')
  const { status, error, stdout, stderr } = spawnSync(initdb, args, {
    cwd: folder,
    env: bareEnv(),
    encoding: 'utf8',
    ...user,
  })
  if (status !== 0) throw new Error(`${initdb} failed: ${error?.message ?? ''}\n${stdout}${stderr}`)
  fs.appendFileSync(
    join(data, 'postgresql.conf'),
    [
      '',
      "listen_addresses = '127.0.0.1'",
      `unix_socket_directories = '${dirname(data)}'`,
      'max_connections = 200',
      'fsync = on',
      '',
    ].join('\n'),
  )
}

/** The eighth line of postmaster.pid is the server's own word on its state. @param {string} pidFile */
function isReady(pidFile) {
  try {
    return fs.readFileSync(pidFile, 'utf8').split('\n')[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
