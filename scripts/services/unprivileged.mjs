// @ts-check
/** Postgres refuses to run as root, so as root the throw-away servers belong to a user without privileges. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @typedef {{ uid: number, gid: number } | null} User null: the current user */

/** @returns {User} */
export function unprivilegedUser() {
  if (process.getuid?.() !== 0) return null
  const accounts = fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody', 'daemon']) {
    const account = accounts.find(([login]) => login === name)
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) }
  }
  throw new Error('Postgres does not run as root, and there is no user postgres, nobody or daemon to run it as.')
}

/**
 * A new folder that the user owns. As root TMPDIR may be unreadable for other users; then the usual places are tried.
 * @param {User} user
 */
export function makeFolder(user) {
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    const folder = fs.mkdtempSync(join(parent, 'petrel-test-'))
    if (user === null) return folder
    fs.chownSync(folder, user.uid, user.gid)
    if (spawnSync('test', ['-w', folder], { ...user, cwd: '/' }).status === 0) return folder
    fs.rmSync(folder, { recursive: true })
  }
  throw new Error('No folder for temporary files that an unprivileged user can write to.')
}
