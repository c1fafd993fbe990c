/**
 * The token of `petrel dev`, which executes commands for any client that has it: stored in the data directory, readable
 * by its owner only, so that neither another user of the machine nor a page in a browser gets a shell. The same at
 * every start.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CliError } from '../terminal/failure.ts'

export interface DevToken {
  readonly file: string
  readonly token: string
}

export function devToken(folder: string): DevToken {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, 'dev-token')
  try {
    writeFileSync(file, `dev_${randomBytes(24).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  const token = readFileSync(file, 'utf8').trim()
  if (/^dev_[\w-]{20,}$/.test(token)) return { file, token }
  throw new CliError('invalid_request', `${file} holds no token`, 'remove it: the next start makes a new one')
}
