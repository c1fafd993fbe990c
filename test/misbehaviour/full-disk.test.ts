/**
 * A full disk: the server reports that it is not ready, loses nothing, and continues by itself when there is space
 * again.
 */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type Serving, serveOn, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { Neighbour } from './neighbour.ts'

interface Disk {
  fill(): Promise<void>
  empty(): Promise<void>
}

async function closed(serving: Serving): Promise<void> {
  await serving.server.close({ graceMs: 500 })
  await serving.engine.close()
  await serving.store.close()
}

const calm = { 'x-ojs-tenant': 'calm' }

/** Two steps of another tenant. The first is held when the disk fills up. */
class Chain {
  readonly #serving: Serving
  readonly #id: string

  private constructor(serving: Serving, id: string) {
    this.#serving = serving
    this.#id = id
  }

  static async begin(serving: Serving): Promise<Chain> {
    const steps = [1, 2].map((n) => ({ type: 'calm.step', args: [n], options: { queue: 'calm' } }))
    const made = await serving.post('/ojs/v1/workflows', { type: 'chain', steps }, calm)
    return new Chain(serving, made.body.workflow.id)
  }

  async fetch(): Promise<{ readonly id: string; readonly attempt: number }> {
    const asked = { queues: ['calm'], worker_id: 'calm' }
    const fetched = await until(
      () => this.#serving.post('/ojs/v1/workers/fetch', asked, calm),
      ({ body }) => body.jobs?.length > 0,
    )
    return fetched.body.jobs[0]
  }

  async ack({ id, attempt }: { readonly id: string; readonly attempt: number }): Promise<number> {
    const report = { job_id: id, worker_id: 'calm', attempt, result: 'done' }
    return (await this.#serving.post('/ojs/v1/workers/ack', report, calm)).status
  }

  async look(): Promise<any> {
    return (await this.#serving.get(`/ojs/v1/workflows/${this.#id}`, calm)).body.workflow
  }

  /** Successes per step. */
  async ends(): Promise<readonly number[]> {
    const { steps } = await this.look()
    const histories = steps.map(({ job_id }: { job_id: string }) => this.#serving.store.read.runHistory(job_id))
    return (await Promise.all(histories)).map(
      (recorded) => recorded.filter(({ type }: any) => type === 'succeeded').length,
    )
  }
}

async function survives(serving: Serving, disk: Disk): Promise<void> {
  const neighbour = await Neighbour.of(serving)
  await neighbour.calm(4)
  const chain = await Chain.begin(serving)
  const held = await chain.fetch()
  const ready = (): Promise<number> => serving.get('/ready').then((reply) => reply.status)
  const put = (text: string) => serving.post('/v1/runs', { type: 'full.v1', payload: { text } })
  const kept = (await put('before')).body.id
  expect(await ready()).toBe(200)
  let acking = Promise.resolve(503)
  await disk.fill()
  try {
    // The smaller ones take the space that is too small for a large one, and large enough for what /ready writes.
    for (const length of [100_000, 10_000]) {
      const refused = await until(
        () => put('x'.repeat(length)),
        ({ status }) => status !== 201,
      )
      expect([refused.status, refused.body.error.retryable]).toEqual([503, true])
    }
    const reply = await until(
      () => serving.get('/ready'),
      ({ status }) => status === 503,
    )
    expect(reply).toMatchObject({ status: 503, body: { status: 'not_ready' } })
    expect(reply.body.reason).toMatch(/^the store takes no writes \((disk_full|io_error|commit_unknown)\)$/)
    // The server is alive, and its data can be read.
    expect((await serving.get('/health')).status).toBe(200)
    expect((await serving.get(`/v1/runs/${kept}`)).status).toBe(200)
    expect(await chain.look()).toMatchObject({ state: 'running' })
    // A small write may find space, wait for it, or be refused and sent again.
    acking = chain.ack(held)
  } finally {
    await disk.empty()
  }
  expect(await until(ready, (status) => status === 200)).toBe(200)
  expect((await put('x'.repeat(100_000))).status).toBe(201)
  // Without help: a refused report is recorded when it is sent again (409: it had been recorded), and the next steps
  // follow.
  let acked = await acking
  if (acked === 503)
    acked = await until(
      () => chain.ack(held),
      (status) => status !== 503,
    )
  expect([200, 409]).toContain(acked)
  expect(await chain.ack(await chain.fetch())).toBe(200)
  expect(await chain.look()).toMatchObject({ state: 'completed' })
  expect(await chain.ends()).toEqual([1, 1])
  await neighbour.beside(async () => {}, 4)
  await neighbour.expectUnaffected()
}

test('SQLite: files that cannot grow', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-full-'))
  const file = join(folder, 'petrel.db')
  const serving = await serveOn(`sqlite:${file}`)
  // The maximal size of files of this process; root may raise it again, and so may others up to the hard limit.
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
  /** A real full disk of 4 MB where one can be mounted; otherwise the error that the server gives on a full one. */
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
            // as long as there is space for
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
