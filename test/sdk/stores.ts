/** Runs a suite on both stores, each test with a Petrel on an empty database of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe } from 'vitest'
import { Petrel, type PetrelOptions } from '../../src/index.ts'
import { emptyDatabase, freshDatabase, postgresUrl } from '../services.ts'

export interface Stage {
  readonly kind: 'sqlite' | 'postgres'
  /**
   * A Petrel on the database of this test; several calls in one test share it. With `migrate: false` in the first call
   * it is not migrated.
   */
  open(options?: PetrelOptions): Promise<Petrel>
  /** The URL of that database. */
  url(): Promise<string>
}

export function onBothStores(name: string, suite: (stage: Stage) => void): void {
  describe(`${name} (sqlite)`, () => suite(stageOn('sqlite', sqliteFile, sqliteFile)))
  onPostgres(`${name} (postgres)`, suite)
}

export function onPostgres(name: string, suite: (stage: Stage) => void): void {
  describe.skipIf(postgresUrl() === null)(name, () => suite(stageOn('postgres', freshDatabase, emptyDatabase)))
}

interface Place {
  readonly url: string
  drop(): Promise<void>
}

async function sqliteFile(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-sdk-'))
  return {
    url: `sqlite:${join(folder, 'petrel.db')}`,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

function stageOn(kind: Stage['kind'], fresh: () => Promise<Place>, empty: () => Promise<Place>): Stage {
  const opened: Petrel[] = []
  let place: Promise<Place> | null = null

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((petrel) => petrel.close({ graceMs: 0 })))
    await (await place)?.drop()
    place = null
  })

  const url = async (): Promise<string> => {
    place ??= fresh()
    return (await place).url
  }
  return {
    kind,
    url,
    async open(options = {}) {
      if (options.migrate === false) place ??= empty()
      const petrel = await Petrel.open(await url(), options)
      opened.push(petrel)
      return petrel
    },
  }
}
