/** kill -9 while a handler logs: what was stored remains, and the next execution has a log of its own. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { Petrel } from '../../src/index.ts'
import { postgresUrl } from '../services.ts'
import { TestDatabase } from './database.ts'
import { built, Program } from './process.ts'

const KINDS = ['sqlite', ...(postgresUrl() === null ? [] : ['postgres' as const])] as const

describe.each(KINDS)('a killed process on %s', (kind) => {
  let dist = ''
  beforeAll(() => {
    dist = built()
  }, 120_000)

  it('its log is there up to the last write; another process continues', { timeout: 60_000 }, async () => {
    const database = await TestDatabase.create(kind)
    const file = fileURLToPath(new URL('log-writer.mjs', import.meta.url))
    const first = new Program(file, { dist, url: database.url })
    let second: Program | null = null
    const petrel = await Petrel.open(database.url)
    try {
      await first.line('ready')
      const run = await petrel.enqueue('noisy', null, { retry: { maxAttempts: 3, initialMs: 1, maxMs: 1 } })
      await first.line('stopped')
      expect(await first.kill()).toBe('SIGKILL')
      const lines = async () => (await run.log()).lines.map(({ attempt, number, text }) => [attempt, number, text])
      const stored = [
        [1, 0, 'one'],
        [1, 1, 'two'],
        [1, 2, 'three'],
      ]
      expect(await lines()).toEqual(stored)
      second = new Program(file, { dist, url: database.url })
      await second.line('ready')
      await run.result()
      expect(await lines()).toEqual([...stored, [2, 0, 'again']])
    } finally {
      await second?.kill()
      await first.kill()
      await petrel.close()
      await database.drop()
    }
  })
})
