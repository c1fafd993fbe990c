/** Both stores in a form that several processes can open, in sequence or at once. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Place } from '../engine/drive.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

export const STORES: readonly Place[] = [
  { name: 'sqlite', open: sqliteFile },
  ...(postgresUrl() === null ? [] : [{ name: 'postgres', open: freshDatabase }]),
]

async function sqliteFile(): ReturnType<Place['open']> {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-dag-'))
  return {
    url: `sqlite:${join(folder, 'petrel.db')}`,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}
