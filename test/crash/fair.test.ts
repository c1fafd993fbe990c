/** Processes that enqueue and claim runs with fair keys: killed with SIGKILL, and two of them at the same time. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseRunSearch } from '../../src/model/search/parse.ts'
import { postgresUrl } from '../services.ts'
import { TestDatabase } from './database.ts'
import { built, Program } from './process.ts'

const FILE = fileURLToPath(new URL('fair-engine.mjs', import.meta.url))
const KINDS = ['sqlite', ...(postgresUrl() === null ? [] : ['postgres' as const])] as const
const KEYS = ['a', 'b', 'c']
const EACH = 60
/** Commits are of the enqueues, then of claims and reports by turns. */
const ARMS = [
  { point: 'before-commit', at: 2 },
  { point: 'after-commit', at: 3 },
  { point: 'after-commit', at: 5 },
  { point: 'before-commit', at: 8 },
  { point: 'after-commit', at: 8 },
  { point: 'before-commit', at: 5 },
]

describe.each(KINDS)('runs with fair keys on %s', { timeout: 60_000 }, (kind) => {
  let dist = ''
  beforeAll(() => {
    dist = built()
  }, 120_000)

  /** The claims of a program, in their order. */
  function begin(url: string, more: object): { readonly program: Program; readonly claimed: string[] } {
    const program = new Program(FILE, { dist, url, keys: KEYS, each: EACH, claims: 1_000, arm: null, ...more })
    const claimed: string[] = []
    program.onLine = (line) => claimed.push(...((line['claimed'] ?? []) as string[]))
    return { program, claimed }
  }

  it('nothing is lost or done twice, and the turns continue', async () => {
    const database = await TestDatabase.create(kind)
    try {
      let offset = 0
      for (const arm of ARMS) {
        const { program } = begin(database.url, { arm })
        expect(await program.line('stopped')).toEqual({ stopped: arm.point })
        expect(await program.kill()).toBe('SIGKILL')
        // The leases of the killed process expire.
        offset += 120_000
        await database.onStore((store) => store.moveClock(offset))
      }
      const { program, claimed } = begin(database.url, {})
      await program.line('finished')
      await program.exit()
      // As long as every key has work, none is more than a turn ahead.
      const counts = new Map(KEYS.map((key) => [key, 0]))
      const all = new Map(KEYS.map((key) => [key, claimed.filter((one) => one === key).length]))
      for (const key of claimed) {
        counts.set(key, (counts.get(key) ?? 0) + 1)
        if (KEYS.some((one) => counts.get(one) === all.get(one))) break
        expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(2)
      }
      expect(counts.get('a')).toBeGreaterThan(5)
      await database.onStore(async (store) => {
        const page = { tenant: null, limit: 1_000, before: null, maxBytes: 0 }
        const { rows } = await store.read.search.runs({ ...page, search: parseRunSearch('status:succeeded') })
        const keys = KEYS.flatMap((key) => Array.from({ length: EACH }, (_, n) => `${key}-${n}`))
        expect(rows.map(({ idempotencyKey }) => idempotencyKey).toSorted()).toEqual(keys.toSorted())
        for (const { id, fairKey, idempotencyKey } of rows) {
          expect(idempotencyKey?.startsWith(`${fairKey}-`)).toBe(true)
          const done = (await store.read.runHistory(id)).filter(({ type }) => type.endsWith('succeeded'))
          expect(done).toHaveLength(1)
        }
        expect(await store.read.doctor()).toEqual([])
      })
    } finally {
      await database.drop()
    }
  })

  it('two processes at the same time take each run once, and every key has its share', async () => {
    const database = await TestDatabase.create(kind)
    try {
      const filler = begin(database.url, { claims: 0, each: 200 })
      await filler.program.line('finished')
      const pair = [0, 1].map(() => begin(database.url, { keys: [], claims: 20 }))
      await Promise.all(pair.map(({ program }) => program.line('finished')))
      const [first, second] = pair.map(({ claimed }) => claimed.length)
      expect([first, second]).toEqual([140, 140])
      const counts = KEYS.map((key) => pair.flatMap(({ claimed }) => claimed).filter((one) => one === key).length)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
    } finally {
      await database.drop()
    }
  })
})
