import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { built } from '../crash/process.ts'

describe('openStore', () => {
  it('refuses an unknown URL with the valid forms, and does not print a password', async () => {
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

  it('loads the driver of Postgres only for Postgres', () => {
    const program = `
      import { createRequire } from 'node:module'
      const { openStore } = await import(${JSON.stringify(pathToFileURL(join(built(), 'insides.js')).href)})
      const loaded = () => Object.keys(createRequire('file:///').cache).some((path) => /node_modules[\\\\/]pg[\\\\/]/.test(path))
      const store = await openStore('sqlite::memory:')
      await store.migrate()
      await store.close()
      const before = loaded()
      openStore('postgres://127.0.0.1:1/none').catch(() => {})
      for (let n = 0; n < 500 && !loaded(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
      console.log(JSON.stringify([before, loaded()]))
      process.exit()`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    expect([stdout.trim(), stderr]).toEqual(['[false,true]', ''])
  })
})
