import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'

describe('openStore', () => {
  it('refuses an unknown URL, naming the forms that would be right and no password', async () => {
    for (const url of ['mysql://root:secret@db/x', 'petrel.db', '', 'sqlite:', 'file:petrel.db']) {
      const failure = await openStore(url).then(
        () => null,
        (error: unknown) => error as Error & { code: string },
      )
      expect(failure).toMatchObject({ name: 'StoreUnusableError', code: 'unknown_store' })
      expect(failure!.message).toMatch(/sqlite:path.*sqlite::memory:.*postgres:\/\//)
      expect(failure!.message).not.toContain('secret')
    }
  })

  it('loads the driver of Postgres only for Postgres', async () => {
    const loaded = () =>
      Object.keys(createRequire(import.meta.url).cache).some((path) => /node_modules[\\/]pg[\\/]/.test(path))
    const store = await openStore('sqlite::memory:')
    await store.migrate()
    await store.close()
    expect(loaded()).toBe(false)
  })
})
