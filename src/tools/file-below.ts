/**
 * Reads a file that must be below a directory. The decision concerns the file that was opened, not its name: replacing
 * a symbolic link between the check and the read changes nothing.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'

export type Refusal = 'outside' | 'not a file' | 'too large'

/** Why a file is not read, although the file system would allow it. */
export class FileRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(why)
    this.why = why
  }
}

/** `root` null: any directory. Rejects with FileRefused or the file system's error. */
export async function readBelow(path: string, root: string | null, mostBytes: number): Promise<string> {
  if (root !== null && !isBelow(resolve(path), resolve(root))) throw new FileRefused('outside')
  // Without O_NONBLOCK, a pipe that no process writes to would block a thread.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (root !== null && !isBelow(await openedPath(file, path), await realpath(root))) throw new FileRefused('outside')
    if (!found.isFile()) throw new FileRefused('not a file')
    if (found.size > mostBytes) throw new FileRefused('too large')
    return await contentOf(file, mostBytes)
  } finally {
    await file.close()
  }
}

export function isBelow(path: string, root: string): boolean {
  const below = relative(root, path)
  return below !== '' && below !== '..' && !below.startsWith(`..${sep}`) && !isAbsolute(below)
}

/** Bounded even if the file grows meanwhile. */
async function contentOf(file: FileHandle, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of file.createReadStream({ autoClose: false, end: mostBytes })) {
    chunks.push(chunk as Buffer)
    length += (chunk as Buffer).length
  }
  if (length > mostBytes) throw new FileRefused('too large')
  return Buffer.concat(chunks).toString('utf8')
}

/** The path of the open file. Without /proc: the path its name leads to now, if that is still the same file. */
async function openedPath(file: FileHandle, path: string): Promise<string> {
  const byProcess = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null)
  if (byProcess !== null) return byProcess
  const real = await realpath(path)
  const [opened, named] = await Promise.all([file.stat(), stat(real)])
  if (opened.dev !== named.dev || opened.ino !== named.ino) throw new FileRefused('outside')
  return real
}
