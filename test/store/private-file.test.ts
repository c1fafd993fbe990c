/** The file of an SQLite database is accessible to its owner only. */
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Petrel } from '../../src/index.ts'
import { shell } from '../cli/petrel.ts'

const folder = mkdtempSync(join(tmpdir(), 'petrel-private-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const modes = (file: string): readonly string[] => ['', '-wal', '-shm'].map((end) => modeOf(file + end))

describe('the file of a database', () => {
  it('is created with mode 600, like the files next to it', async () => {
    const file = join(folder, 'new.db')
    const before = process.umask(0)
    try {
      const petrel = await Petrel.open(`sqlite:${file}`)
      expect(modes(file)).toEqual(['600', '600', '600'])
      await petrel.close()
    } finally {
      process.umask(before)
    }
  })

  it('loses all other permissions when it is opened if it was open to everyone; one shared by a group keeps its mode', async () => {
    const file = join(folder, 'old.db')
    await (await Petrel.open(`sqlite:${file}`)).close()
    for (const [mode, then] of [
      [0o644, '600'],
      [0o666, '600'],
      [0o660, '660'],
    ] as const) {
      chmodSync(file, mode)
      const petrel = await Petrel.open(`sqlite:${file}`)
      expect(modes(file)).toEqual([then, then, then])
      await petrel.close()
    }
  })
})

describe('the folder of the embedded store', () => {
  const sh = shell()

  it('is created with mode 700, and restricted again at the next start', async () => {
    expect((await sh.petrel('migrate')).code).toBe(0)
    const made = join(sh.dir, '.petrel')
    expect([modeOf(made), modeOf(join(made, 'petrel.db'))]).toEqual(['700', '600'])
    chmodSync(made, 0o755)
    expect((await sh.petrel('migrate')).code).toBe(0)
    expect(modeOf(made)).toBe('700')
  })
})
