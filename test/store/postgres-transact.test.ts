import { connect as connectTo, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { anEvent, anInstance, aRun, aWorker } from './rows.ts'
import { load, put } from './subject.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(postgresUrl() === null)('postgres: transactions', () => {
  let subject: PostgresSubject
  beforeEach(async () => {
    subject = await postgresSubject()
  })
  afterEach(() => subject.close())

  it('decides again after a deadlock, and both sides succeed', async () => {
    const { store } = subject
    const first = aRun()
    const second = aRun()
    await put(store, { runs: { insert: [first, second] } })
    let decisions = 0
    const cross = (from: string, to: string): Promise<void> =>
      store.transact({
        roots: [],
        wait: true,
        need: { runs: [from] },
        decide: (loaded) => {
          decisions++
          const run = loaded.runs.get(to)
          if (run === undefined) return { need: { runs: [to] } }
          return { delta: { runs: { update: [{ ...run, attempt: run.attempt + 1 }] } }, result: undefined }
        },
      })
    // Both connections are open: the two begin at the same time.
    await Promise.all([load(store, { runs: [first.id] }), load(store, { runs: [second.id] })])
    await Promise.all([cross(first.id, second.id), cross(second.id, first.id)])
    const runs = await store.read.runs({ ids: [first.id, second.id] })
    expect(runs.map((run) => run.attempt)).toEqual([1, 1])
    expect(decisions).toBeGreaterThanOrEqual(4)
  })

  it('skips locked roots, or waits for them', async () => {
    const { store, foreign } = subject
    const free = anInstance()
    const held = anInstance()
    await put(store, { instances: { insert: [free, held] } })
    await foreign.query('BEGIN')
    await foreign.query('SELECT FROM workflow_instance WHERE id = $1 FOR UPDATE', [held.id])
    const lock = (wait: boolean): Promise<string[]> =>
      store.transact({
        roots: [free.id, held.id],
        wait,
        need: {},
        decide: (loaded) => ({ delta: {}, result: [...loaded.locked] }),
      })
    expect(await lock(false)).toEqual([free.id])
    const waiting = lock(true)
    await pause(200)
    await foreign.query('COMMIT')
    expect(new Set(await waiting)).toEqual(new Set([free.id, held.id]))
  })

  it('reads under the lock what the previous holder wrote', async () => {
    const { store, foreign } = subject
    const instance = anInstance()
    await put(store, {
      instances: { insert: [instance] },
      slots: { put: [{ instanceId: instance.id, key: 'a', value: '1' }] },
    })
    await foreign.query('BEGIN')
    await foreign.query('SELECT FROM workflow_instance WHERE id = $1 FOR UPDATE', [instance.id])
    const read = load(store, { instances: [instance.id], slots: [{ instanceId: instance.id, keys: ['a'] }] }, [
      instance.id,
    ])
    await pause(200)
    await foreign.query(`UPDATE workflow_slot SET value = '2'`)
    await foreign.query('UPDATE workflow_instance SET fires = 7')
    await foreign.query('COMMIT')
    const loaded = await read
    expect(loaded.slots.get(`${instance.id}/a`)).toBe('2')
    expect(loaded.instances.get(instance.id)?.fires).toBe(7)
  })

  it('gives up on a row that stays locked, and names its holder', async () => {
    const impatient = await subject.open({ lockTimeoutMs: 100 })
    const run = aRun()
    await put(impatient, { runs: { insert: [run] } })
    await subject.foreign.query("SET application_name = 'night shift'; BEGIN")
    await subject.foreign.query('SELECT FROM workflow_run FOR UPDATE')
    const { rows } = await subject.foreign.query('SELECT pg_backend_pid() AS pid')
    const refused = await load(impatient, { runs: [run.id] }).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      name: 'StoreLockedError',
      code: 'row_locked',
      rows: [{ table: 'run', key: run.id, holder: { pid: rows[0].pid, application: 'night shift' } }],
    })
    expect((refused as Error).message).toContain(`process ${rows[0].pid} (night shift) holds the row of run ${run.id}`)
    await subject.foreign.query('ROLLBACK')
    await expect.poll(async () => (await load(impatient, { runs: [run.id] })).runs.size).toBe(1)
  })

  it('refuses at once, without a connection, a row that is known to be locked', async () => {
    const { store, foreign } = subject
    const held = aRun()
    const free = aRun()
    await put(store, { runs: { insert: [held, free] } })
    await foreign.query('BEGIN')
    await foreign.query('SELECT FROM workflow_run WHERE id = $1 FOR UPDATE', [held.id])
    const take = (id: string): Promise<number> =>
      store.transact({
        roots: [],
        wait: false,
        need: { runs: [id] },
        decide: (loaded) => ({ delta: {}, result: loaded.runs.size }),
      })
    for (let i = 0; i < 3; i++) await expect(take(held.id)).rejects.toMatchObject({ code: 'row_locked' })
    expect(await take(free.id)).toBe(1)
    await foreign.query('ROLLBACK')
    await expect.poll(() => take(held.id).catch(() => 0), { timeout: 5000 }).toBe(1)
  })

  it('refuses one bad row with a data error and continues working', async () => {
    const { store } = subject
    const bad = put(store, { runs: { insert: [aRun(), aRun({ payload: '{"a":' })] } })
    await expect(bad).rejects.toMatchObject({ name: 'StoreDataError' })
    await expect(put(store, { runs: { insert: [aRun({ payload: '"\\u0000"' })] } })).rejects.toMatchObject({
      name: 'StoreDataError',
    })
    await expect(put(store, { events: [anEvent({ type: 'Nonsense' })] })).rejects.toMatchObject({
      name: 'StoreDataError',
    })
    await put(store, { runs: { insert: [aRun()] } })
    expect((await store.read.countRuns({ queue: null })).get('pending')).toBe(1)
  })

  it('does not decide on a clock that another process has moved', async () => {
    const { store } = subject
    const other = await subject.open()
    await put(store, { runs: { insert: [aRun()] } })
    const before = await store.now()
    await other.moveClock(3_600_000)
    const seen: number[] = []
    await store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: (loaded) => {
        seen.push(loaded.now)
        return { delta: { runs: { insert: [aRun()] } }, result: null }
      },
    })
    expect(seen.at(-1)).toBeGreaterThanOrEqual(before + 3_600_000)
  })

  describe('inside a transaction of the caller', () => {
    const enqueue = (store: PostgresSubject['store'], client: PostgresSubject['foreign'], key: string) =>
      store.transactOn(client, {
        roots: [],
        wait: true,
        need: { idempotencyKeys: [key] },
        decide: ({ now }) => ({
          delta: { runs: { insert: [aRun({ idempotencyKey: key, runAt: now }), aRun({ runAt: now })] } },
          result: now,
        }),
      })

    it('leaves nothing when the caller rolls back, everything when the caller commits', async () => {
      const { store, foreign } = subject
      await foreign.query('CREATE TABLE orders (id int)')
      for (const end of ['ROLLBACK', 'COMMIT']) {
        await foreign.query('BEGIN')
        await foreign.query('INSERT INTO orders VALUES (1)')
        await enqueue(store, foreign, 'order-1')
        expect((await store.read.countRuns({ queue: null })).size).toBe(0)
        await foreign.query(end)
      }
      expect((await store.read.countRuns({ queue: null })).get('pending')).toBe(2)
      expect((await foreign.query('SELECT FROM orders')).rowCount).toBe(1)
    })

    it('reads times correctly in any time zone of the caller, and names a conflict', async () => {
      const { store, foreign } = subject
      await foreign.query(`SET TimeZone = 'Asia/Kolkata'`)
      await foreign.query('BEGIN')
      const now = await enqueue(store, foreign, 'k')
      expect(Math.abs(now - Date.now())).toBeLessThan(60_000)
      const loaded = await store.transactOn(foreign, {
        roots: [],
        wait: true,
        need: { idempotencyKeys: ['k'] },
        decide: (all) => ({ delta: {}, result: all.idempotencyKeys.get('k')?.runAt }),
      })
      expect(loaded).toBe(now)
      await expect(enqueue(store, foreign, 'k')).rejects.toMatchObject({
        name: 'StoreConflictError',
        code: 'idempotency_key_taken',
      })
      await foreign.query('ROLLBACK')
    })
  })

  describe('when connections are lost', () => {
    it('each kind reconnects by itself', async () => {
      const { store } = subject
      const other = await subject.open()
      const heard: unknown[] = []
      store.onWake((wake) => heard.push(wake))
      const everything = async (): Promise<void> => {
        await put(store, { runs: { insert: [aRun()] } })
        await store.read.countRuns({ queue: null })
        await store.sweep.beat({ worker: aWorker(), ttlMs: 1000 })
        store.wake({ queues: ['a'] })
      }
      await everything()
      for (const kind of ['patient', 'read', 'beat', 'notify', 'listen'] as const) {
        expect(await subject.kill(kind), kind).toBeGreaterThan(0)
        await everything()
      }
      await expect.poll(() => heard, { timeout: 5000 }).toContainEqual({})
      other.wake({ queues: ['b'] })
      await expect.poll(() => heard).toContainEqual({ queues: ['b'] })
      expect((await store.read.countRuns({ queue: null })).get('pending')).toBe(6)
    })

    /** Every write of a run sleeps in its trigger while there is a row in `slow`. */
    const slowly = (when: string): Promise<unknown> =>
      subject.foreign.query(`
        CREATE TABLE slow (); INSERT INTO slow DEFAULT VALUES; GRANT SELECT ON slow TO PUBLIC;
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN IF EXISTS (SELECT FROM workflow.slow) THEN PERFORM pg_sleep(20); END IF; RETURN NEW; END';
        CREATE ${when} ON workflow_run ${when.includes('CONSTRAINT') ? 'DEFERRABLE INITIALLY DEFERRED' : ''}
          FOR EACH ROW EXECUTE FUNCTION workflow.slow()`)

    it('retries a transaction that was lost before its commit', async () => {
      const { store, foreign } = subject
      const run = aRun()
      await put(store, { runs: { insert: [run] } })
      await slowly('TRIGGER slow BEFORE UPDATE')
      let decisions = 0
      const writing = store.transact({
        roots: [],
        wait: true,
        need: { runs: [run.id] },
        decide: (loaded) => {
          decisions++
          return { delta: { runs: { update: [{ ...loaded.runs.get(run.id)!, attempt: 1 }] } }, result: null }
        },
      })
      await subject.untilWaiting('petrel patient', 1)
      await foreign.query('DELETE FROM slow')
      await subject.kill('patient')
      await writing
      expect(decisions).toBe(2)
      expect((await store.read.run(run.id))?.attempt).toBe(1)
    })

    it('detects that a write cut off before COMMIT did not happen', async () => {
      const { store, foreign } = subject
      await slowly('TRIGGER slow BEFORE INSERT')
      const writing = put(store, { runs: { insert: [aRun({ idempotencyKey: 'k' })] } })
      await subject.untilWaiting('petrel patient', 1)
      await foreign.query('DELETE FROM slow')
      await subject.kill('patient')
      await writing
      expect((await store.read.countRuns({ queue: null })).get('pending')).toBe(1)
    })

    it('cannot determine the outcome of a COMMIT that was running', async () => {
      const { store } = subject
      await slowly('CONSTRAINT TRIGGER slow AFTER INSERT')
      const writing = put(store, { runs: { insert: [aRun()] } })
      await subject.untilWaiting('petrel patient', 1)
      await Promise.all([
        expect(writing).rejects.toMatchObject({ name: 'StoreUnavailableError', code: 'commit_unknown' }),
        subject.kill('patient'),
      ])
    })

    it('reports commit_unknown when the answer to COMMIT is lost, although all was written', async () => {
      const run = aRun()
      const cut = await cutAfterCommit(subject.url)
      try {
        const store: Store = await subject.open({ url: cut.url, pollOnly: true })
        await store.now()
        cut.arm()
        await expect(put(store, { runs: { insert: [run] } })).rejects.toMatchObject({ code: 'commit_unknown' })
        expect(await subject.store.read.run(run.id)).not.toBeNull()
      } finally {
        cut.close()
      }
    })
  })
})

/** A proxy in front of the server that, once armed, drops the answer to the next COMMIT and closes the connection. */
async function cutAfterCommit(url: string): Promise<{ readonly url: string; arm(): void; close(): void }> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let armed = false
  const server = createServer((client) => {
    const database = connectTo(Number(target.port || 5432), target.hostname)
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        database.destroy()
      })
    }
    client.on('data', (bytes) => database.write(bytes))
    database.on('data', (bytes) => {
      if (armed && bytes.includes('COMMIT\0')) client.destroy()
      else client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String((server.address() as { port: number }).port)
  return {
    url: through.href,
    arm: () => {
      armed = true
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
