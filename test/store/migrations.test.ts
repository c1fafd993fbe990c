/** The files of migrations: a number names one of them, none is missing, and a released one never changes. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import released from './released-migrations.json' with { type: 'json' }

describe.each(['postgres', 'sqlite'] as const)('migrations of %s', (store) => {
  const folder = new URL(`../../src/store/${store}/migrations/`, import.meta.url)
  const files = readdirSync(folder).sort()

  it('are numbered one after the other', () => {
    expect(files.map((file) => Number(file.slice(0, 4)))).toEqual(files.map((_, i) => i + 1))
  })

  /** A database refuses a build with another text under a number it has applied. Even comments must not change. */
  it('stay byte for byte once they are released', () => {
    const checksums = files.map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(new URL(file, folder)))
        .digest('hex'),
    ])
    expect(Object.fromEntries(checksums)).toEqual(released[store])
  })
})
