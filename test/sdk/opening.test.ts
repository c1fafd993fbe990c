/** Opening a Petrel, and work inside the caller's own transaction. */

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { chain, job, Petrel, task } from '../../src/index.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores, onPostgres } from './stores.ts'

describe('stores that cannot be opened', () => {
  it.each([
    ['an unknown kind', 'mongodb://localhost', 'no store is called "mongodb://localhost"'],
    ['nothing', '', 'no store is called ""'],
  ])('%s', async (_, url, message) => {
    await expect(Petrel.open(url)).rejects.toThrow(message)
  })

  it('a file that is not a database', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'petrel-sdk-')), 'notes.txt')
    writeFileSync(file, 'these are my notes, not a database, and they are longer than a header of SQLite')
    await expect(Petrel.open(`sqlite:${file}`)).rejects.toMatchObject({ name: 'StoreUnusableError' })
  })
})

onBothStores('opening', (stage) => {
  it('without migration it reports the missing migrations', async () => {
    await expect(stage.open({ migrate: false }).then((petrel) => petrel.enqueue('x'))).rejects.toThrow()
  })

  it('a second opening finds the work that the first left', async () => {
    const first = await stage.open()
    const handle = await first.enqueue('later', { a: 1 })
    await first.close()
    const second = await stage.open()
    second.handle('later', (args) => args)
    await second.work()
    expect(await second.run(handle.id).result()).toEqual({ a: 1 })
  })

  it('work that expired while no process ran has ended before a worker could start it', async () => {
    const text = JSON.stringify({
      apiVersion: 'ioa.dev/v0.2',
      kind: 'Workflow',
      metadata: { name: 'late' },
      spec: { timeout: '1h', steps: [{ name: 'a' }, { name: 'b' }] },
    })
    const { start } = await readDefinition('late.yaml', text)
    const first = await stage.open()
    const ids = (await engineOf(first).start([start, start, start])).map(({ id }) => id)
    await engineOf(first).store.moveClock(2 * 3_600_000)
    await first.close()
    const second = await stage.open()
    const begun: string[] = []
    for (const step of ['a', 'b']) second.handle(step, () => begun.push(step))
    await second.work()
    for (const id of ids) expect(await engineOf(second).ended({ id, kind: 'instance' })).toBe('failed')
    expect(begun).toEqual([])
  })

  it('a worker needs handlers', async () => {
    const petrel = await stage.open()
    await expect(petrel.work()).rejects.toThrow('a worker needs at least one handler')
    petrel.handle('a', () => 1)
    await expect(petrel.work({ types: ['b'] })).rejects.toThrow("there is no handler for 'b'")
    await expect(petrel.work({ concurrency: 0 })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('an unknown id is not found', async () => {
    const petrel = await stage.open()
    const id = '01920000-0000-7000-8000-000000000000'
    await expect(petrel.run(id).status()).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.run(id).result()).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.instance(id).result()).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.instance(id).cancel()).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.run(id).cancel()).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.complete(id, 1)).rejects.toMatchObject({ code: 'not_found' })
    await expect(petrel.gates.approve(id)).rejects.toMatchObject({ code: 'not_found' })
  })

  if (stage.kind === 'sqlite') {
    it('a transaction of the caller needs Postgres', async () => {
      const petrel = await stage.open()
      const tx = { query: () => undefined }
      await expect(petrel.enqueue('x', 1, { tx })).rejects.toMatchObject({ code: 'invalid_request' })
    })
  }
})

onPostgres("the caller's own transaction", (stage) => {
  it('what is enqueued and started in it commits or vanishes with it', async () => {
    const double = task('double', async (n: number) => n * 2)
    const petrel = await stage.open()
    petrel.handle(double)
    await petrel.work()
    const client = new pg.Client({ connectionString: await stage.url() })
    await client.connect()
    try {
      await client.query('CREATE TABLE orders (id int PRIMARY KEY)')
      await client.query('BEGIN')
      await client.query('INSERT INTO orders VALUES (1)')
      const lost = await petrel.enqueue(double, 1, { tx: client })
      const lostToo = await petrel.start(chain(job(double, 2)), { tx: client })
      await client.query('ROLLBACK')
      await expect(lost.status()).rejects.toMatchObject({ code: 'not_found' })
      await expect(lostToo.status()).rejects.toMatchObject({ code: 'not_found' })

      await client.query('BEGIN')
      await client.query('INSERT INTO orders VALUES (2)')
      const run = await petrel.enqueue(double, 21, { tx: client })
      const workflow = await petrel.start(chain(job(double, 4)), { tx: client })
      await expect(petrel.run(run.id).status()).rejects.toMatchObject({ code: 'not_found' })
      await client.query('COMMIT')
      expect(await run.result()).toBe(42)
      expect(await workflow.result()).toBe(8)
      expect((await client.query('SELECT id FROM orders')).rows).toEqual([{ id: 2 }])
    } finally {
      await client.end()
    }
  })
})
