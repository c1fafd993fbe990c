/**
 * Only the owner may access the file of a database: among other things it contains the secret that signs links to
 * gates. SQLite gives its -wal and -shm files the permissions of the file itself.
 */
import { chmod, open, stat } from 'node:fs/promises'

/** Creates a missing file, readable by its owner only. */
export async function createPrivate(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch(() => null)
  // If it cannot be created, opening the database reports why.
  await file?.close()
}

/**
 * Removes the access of all others if every user has some. A file that only a group shares is shared on purpose. One
 * that belongs to another user cannot be changed from here: its owner must.
 */
export async function keepPrivate(path: string): Promise<void> {
  for (const each of [path, `${path}-wal`, `${path}-shm`]) {
    const found = await stat(each).catch(() => null)
    if (found === null || (found.mode & 0o007) === 0) continue
    await chmod(each, found.mode & 0o700).catch(() => {
      const message = `every user of this machine can read ${each}, which holds the secret that signs links to gates; as its owner: chmod 600 ${each}`
      process.emitWarning(message, { code: 'PETREL_STORE_READABLE' })
    })
  }
}
