import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { chain, job, Petrel } from '../src/index.ts'
import { Databases, templateName } from './databases.ts'
import { engineOf } from './engine-of.ts'
import { postgresUrl } from './services.ts'

describe.skipIf(postgresUrl() === null)('test databases', () => {
  const server = postgresUrl() ?? ''
  const databases = new Databases(server, `test ${process.pid}`)
  const taken: string[] = []

  afterEach(async () => {
    for (const name of taken.splice(0)) await databases.drop(name)
  })
  afterAll(async () => {
    await databases.clear()
    await databases.close()
  })

  async function take(): Promise<{ readonly name: string; readonly url: string; readonly oid: number }> {
    const name = await databases.take()
    taken.push(name)
    const [{ oid }] = await rows(server, `SELECT oid FROM pg_database WHERE datname = '${name}'`)
    return { name, url: databases.urlOf(name), oid }
  }

  it('are reused, and look as if they had never been used', async () => {
    const used = await take()
    const before = await contents(used.url)
    const petrel = await Petrel.open(used.url)
    petrel.handle('double', (n: number) => n * 2)
    await petrel.work()
    await (await petrel.start(chain(job('double', 1), job('double', 2)))).result()
    await engineOf(petrel).store.moveClock(1000)
    await petrel.close()
    const after = await contents(used.url)
    for (const table of ['workflow_run', 'workflow_instance', 'workflow_event_id_seq', 'workflow_setting']) {
      expect(after[table]).not.toEqual(before[table])
    }
    await databases.giveBack(used.name)
    const lent = await take()
    expect(lent).toMatchObject({ oid: used.oid })
    expect(lent.name).not.toBe(used.name)
    expect(await contents(lent.url)).toEqual(before)
  })

  it('are given to only one of several simultaneous callers', async () => {
    const names = [await take(), await take()]
    for (const { name } of names) await databases.giveBack(name)
    const others = new Databases(server, `test ${process.pid}`)
    const asked = await Promise.all([databases.take(), others.take(), databases.take(), others.take()])
    taken.push(...asked)
    expect(new Set(asked).size).toBe(4)
    for (const name of asked) expect(await rows(databases.urlOf(name), 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await others.close()
  })

  it.each([
    ['a table more', 'CREATE TABLE mark (id int)'],
    ['a column more', 'ALTER TABLE workflow.workflow_run ADD COLUMN mark int'],
    ['an index less', 'DROP INDEX workflow.workflow_run_due'],
    ['a trigger switched off', 'ALTER TABLE workflow.workflow_run DISABLE TRIGGER USER'],
    ['another function', 'ALTER FUNCTION workflow.clock() VOLATILE'],
    ['rows others may read', 'GRANT SELECT ON workflow.workflow_run TO PUBLIC'],
    ['a schema others may write', 'GRANT CREATE ON SCHEMA public TO PUBLIC'],
    [
      'a setting of its own',
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$`,
    ],
  ])('are dropped instead of reused if they have %s', async (_, change) => {
    const changed = await take()
    await rows(changed.url, change)
    await databases.giveBack(changed.name)
    expect((await take()).oid).not.toBe(changed.oid)
    expect(await rows(server, `SELECT FROM pg_database WHERE oid = ${changed.oid}`)).toEqual([])
  })

  it('cannot be reached by clients that were still connected when they were returned', async () => {
    const { name, url } = await take()
    const client = new pg.Client({ connectionString: url })
    const ended = new Promise((resolve) => client.on('error', resolve))
    await client.connect()
    await databases.giveBack(name)
    expect(await ended).toMatchObject({ code: '57P01' })
    await expect(rows(url, 'SELECT 1')).rejects.toMatchObject({ code: '55000' })
    await take()
    await expect(rows(url, 'SELECT 1')).rejects.toMatchObject({ code: '3D000' })
  })

  it('come from a template that is rebuilt if its builder was killed, or if it was removed', async () => {
    await databases.clear()
    const template = templateName(await databases.kind())
    expect(await rows(server, `SELECT FROM pg_database WHERE datname = '${template}'`)).toEqual([])
    await rows(server, `CREATE DATABASE ${template} TEMPLATE template0`)
    const others = new Databases(server, `test ${process.pid}`)
    for (const each of [others, databases]) {
      const name = await each.take()
      taken.push(name)
      expect((await contents(each.urlOf(name)))['workflow_migration']).not.toEqual([])
    }
    await others.close()
  })
})

/** The content of every table and sequence. */
async function contents(url: string): Promise<Record<string, readonly unknown[]>> {
  const tables = await rows(
    url,
    `SELECT relname AS name, relkind = 'S' AS sequence FROM pg_class
     WHERE relnamespace = 'workflow'::regnamespace AND relkind IN ('r', 'S') ORDER BY 1`,
  )
  const found: Record<string, readonly unknown[]> = {}
  for (const { name, sequence } of tables) {
    const columns = sequence ? 'last_value, is_called' : '*'
    found[name] = await rows(url, `SELECT ${columns} FROM workflow.${name} ORDER BY 1`)
  }
  return found
}

async function rows(url: string, sql: string): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
