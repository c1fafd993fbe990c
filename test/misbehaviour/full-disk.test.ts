/** A disk that is full: the server says that it is not ready, loses nothing, and goes on by itself when there is room again. */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type Serving, serveOn, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

interface Disk {
  fill(): Promise<void>
  empty(): Promise<void>
}

async function closed(serving: Serving): Promise<void> {
  await serving.server.close({ graceMs: 500 })
  await serving.engine.close()
  await serving.store.close()
}

async function survives(serving: Serving, disk: Disk): Promise<void> {
  const ready = (): Promise<number> => serving.get('/ready').then((reply) => reply.status)
  const put = (text: string) => serving.post('/v1/runs', { type: 'full.v1', payload: { text } })
  const kept = (await put('before')).body.id
  expect(await ready()).toBe(200)
  await disk.fill()
  try {
    const refused = await until(
      () => put('x'.repeat(100_000)),
      ({ status }) => status !== 201,
    )
    expect([refused.status, refused.body.error.retryable]).toEqual([503, true])
    const reply = await until(
      () => serving.get('/ready'),
      ({ status }) => status === 503,
    )
    expect(reply).toMatchObject({ status: 503, body: { status: 'not_ready' } })
    expect(reply.body.reason).toMatch(/^the store takes no writes \((disk_full|io_error|commit_unknown)\)$/)
    // It lives, and what it has can be read.
    expect((await serving.get('/health')).status).toBe(200)
    expect((await serving.get(`/v1/runs/${kept}`)).status).toBe(200)
  } finally {
    await disk.empty()
  }
  expect(await until(ready, (status) => status === 200)).toBe(200)
  expect((await put('x'.repeat(100_000))).status).toBe(201)
}

test('SQLite: files that cannot grow', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-full-'))
  const file = join(folder, 'petrel.db')
  const serving = await serveOn(`sqlite:${file}`)
  // The size that any file of this process may have; root may raise it again, and so may we up to the hard limit.
  const limit = (bytes: string): void => {
    execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
  }
  const sizeOf = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  try {
    await survives(serving, {
      fill: async () => limit(String(Math.max(sizeOf(file), sizeOf(`${file}-wal`)) + 16_384)),
      empty: async () => limit('unlimited'),
    })
  } finally {
    await closed(serving)
    rmSync(folder, { recursive: true })
  }
}, 60_000)

describe.skipIf(postgresUrl() === null)('Postgres', () => {
  /** A real one of 4 MB where a disk can be mounted; else the error that the server gives on a full one. */
  const disks: Record<string, (client: pg.Client) => Promise<Disk & { remove(): Promise<void> }>> = {
    mounted: async (client) => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-disk-'))
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
      const { rows } = await client.query(`SELECT current_setting('data_directory') AS directory`)
      const { uid, gid } = statSync(rows[0].directory)
      chownSync(folder, uid, gid)
      await client.query(`CREATE TABLESPACE tiny LOCATION '${folder}'`)
      for (const table of ['workflow_run', 'workflow_probe']) {
        await client.query(`ALTER TABLE workflow.${table} SET TABLESPACE tiny`)
      }
      const ballast = join(folder, 'ballast')
      return {
        fill: async () => {
          try {
            writeFileSync(ballast, Buffer.alloc(4_000_000))
          } catch {
            // as much as there is room for
          }
        },
        empty: async () => rmSync(ballast, { force: true }),
        remove: async () => {
          for (const table of ['workflow_run', 'workflow_probe']) {
            await client.query(`ALTER TABLE workflow.${table} SET TABLESPACE pg_default`)
          }
          await client.query('DROP TABLESPACE tiny')
          execFileSync('umount', [folder])
          rmSync(folder, { recursive: true })
        },
      }
    },
    raised: async (client) => {
      await client.query(`CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`)
      const tables = ['workflow_run', 'workflow_probe']
      const each = async (sql: (table: string) => string): Promise<void> => {
        for (const table of tables) await client.query(sql(`workflow.${table}`))
      }
      return {
        fill: () =>
          each((table) => `CREATE TRIGGER full_disk BEFORE INSERT ON ${table} EXECUTE FUNCTION public.full_disk()`),
        empty: () => each((table) => `DROP TRIGGER full_disk ON ${table}`),
        remove: () => client.query('DROP FUNCTION public.full_disk()').then(() => {}),
      }
    },
  }

  test(`tables that cannot grow`, async () => {
    const place = await freshDatabase()
    const serving = await serveOn(place.url)
    const client = new pg.Client(place.url)
    await client.connect()
    const disk = await (process.getuid?.() === 0 ? disks['mounted']! : disks['raised']!)(client)
    try {
      await survives(serving, disk)
    } finally {
      await closed(serving)
      await disk.remove()
      await client.end()
      await place.drop()
    }
  }, 60_000)
})
