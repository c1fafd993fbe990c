// @ts-check
/** One server process: its log, waiting until it is ready, ending it. */
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const readyTimeoutMs = 30_000
const stopTimeoutMs = 10_000

/**
 * @typedef {{
 *   pid: number,
 *   ready<T>(probe: () => T | null): Promise<T>,
 *   stop(): Promise<void>,
 * }} Server
 * @typedef {{
 *   command: string, args: string[], folder: string, logFile: string,
 *   user: import('./unprivileged.mjs').User, stopSignal: NodeJS.Signals,
 * }} ServerParams
 * @typedef {(params: Omit<ServerParams, 'folder' | 'user'>) => Server} Launch
 */

/** @param {ServerParams} params @returns {Server} */
export function spawnServer({ command, args, folder, logFile, user, stopSignal }) {
  const log = fs.openSync(logFile, 'a')
  // The folder as cwd, since the user may not be allowed into the current one. A minimal environment, without PG*
  // variables or a locale.
  const child = spawn(command, args, { cwd: folder, env: bareEnv(), stdio: ['ignore', log, log], ...user })
  fs.closeSync(log)
  /** @type {string | null} */
  let ended = null
  /** @type {Promise<void>} */
  const exited = new Promise((resolve) => {
    child.once('error', (error) => resolve(void (ended = error.message)))
    child.once('exit', (code, signal) => resolve(void (ended = `exit ${code ?? signal}`)))
  })

  return {
    pid: child.pid ?? 0,
    /** Repeats the probe until it returns something other than null. */
    async ready(probe) {
      const giveUpAt = Date.now() + readyTimeoutMs
      for (;;) {
        const answer = ended === null ? probe() : null
        if (answer !== null) return answer
        if (ended !== null || Date.now() > giveUpAt) {
          const why = ended ?? `not ready after ${readyTimeoutMs / 1000} s`
          throw new Error(
            `${command} did not start (${why}). Its log:\n${fs.readFileSync(logFile, 'utf8').slice(-4000)}`,
          )
        }
        await sleep(20)
      }
    },
    async stop() {
      if (ended !== null) return
      child.kill(stopSignal)
      const kill = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
      await exited
      clearTimeout(kill)
    },
  }
}

export function bareEnv() {
  return { PATH: process.env['PATH'], LC_ALL: 'C' }
}

/** The full path of a program in one of the folders. @param {string} name @param {readonly string[]} folders */
export function findProgram(name, folders = pathFolders()) {
  for (const folder of folders) {
    const file = join(folder, name)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // not in this one
    }
  }
  return null
}

export function pathFolders() {
  // Debian keeps servers in sbin, which an ordinary user's PATH lacks.
  return [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), '/usr/local/sbin', '/usr/sbin']
}
