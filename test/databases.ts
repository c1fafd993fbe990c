/**
 * Migrated databases for tests. Creating one costs a CREATE DATABASE, all migrations and a DROP that waits for a
 * checkpoint: a third of a second on two cores, for each of a thousand tests. So there is a template, migrated once per
 * server and copied, and a returned database is cleaned and reused, unless the test changed more than rows.
 *
 * A database is in one of these states, determined by its entry in pg_database:
 *   template    petrel_template_<of>, is_template, no connections; before that it is being built, or its builder died
 *   lent        petrel_test_…; it belongs to the process that took it, and is never reused if that process dies
 *   free        petrel_test_…, no connections, its comment is `free <of>`
 * <of> names the files of the schema and the version of the server. Every change of state is one transaction of the
 * server, so a process killed at any point leaves nothing half done that another would take for complete.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { openStore } from '../src/store/open.ts'
import { cleanDatabase, fingerprint, readSeeds, type Seeds } from './clean-database.ts'

const STORE = new URL('../src/store/postgres/', import.meta.url)
const SCHEMA = ['migrations', 'repeatable'].map((folder) => new URL(`${folder}/`, STORE))
/** An arbitrary number that no other lock uses. */
const LOCK = 5_120_448_907

interface Template {
  readonly name: string
  /** In the comment of free copies. */
  readonly of: string
  /** Fingerprint of the catalog: a copy with a different one has been changed. */
  readonly print: string
  readonly seeds: Seeds
}

export class Databases {
  readonly #server: string
  readonly #apart: string
  #admin: Promise<pg.Client> | null = null
  #template: Promise<Template> | null = null

  /** Databases with different names share nothing. */
  constructor(server: string, apart = '') {
    this.#server = server
    this.#apart = apart
  }

  /** Empty and not migrated. */
  async create(): Promise<string> {
    const name = newName()
    // template0: template1 cannot be copied while anyone is connected to it.
    await this.#ask(`CREATE DATABASE ${name} TEMPLATE template0`)
    return name
  }

  /** Migrated, otherwise empty. */
  async take(): Promise<string> {
    for (let tries = 1; ; tries++) {
      this.#template ??= this.#findTemplate()
      const template = await this.#template
      const name = newName()
      if (await this.#lend(name, template)) return name
      try {
        // WAL_LOG: the other strategy begins and ends with a checkpoint, which flushes every database of the server.
        await this.#ask(`CREATE DATABASE ${name} TEMPLATE ${template.name} STRATEGY WAL_LOG`)
        return name
      } catch (error) {
        // Another run of the tests has ended in the meantime and removed its template.
        if ((error as { code?: string }).code !== '3D000' || tries === 3) throw error
        this.#template = null
      }
    }
  }

  /** Afterwards there are no connections to it, and its old name does not exist. */
  async giveBack(name: string): Promise<void> {
    const template = await this.#template
    if (template === null || !(await this.#washed(name, template))) return this.drop(name)
    await this.#ask(`COMMENT ON DATABASE ${name} IS 'free ${template.of}'`)
  }

  async drop(name: string): Promise<void> {
    await this.#ask(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }

  /** Removes the template and the free copies; runs of the tests that continue meanwhile create another template. */
  async clear(): Promise<void> {
    const of = await this.kind()
    await this.#locked(async () => {
      const free = await this.#ask(freeOnes(of))
      for (const { name } of free) await this.drop(name as string)
      if ((await this.#ask(`SELECT FROM pg_database WHERE datname = '${templateName(of)}'`)).length === 0) return
      await this.#ask(`ALTER DATABASE ${templateName(of)} IS_TEMPLATE false`)
      await this.drop(templateName(of))
    })
  }

  async close(): Promise<void> {
    const admin = this.#admin
    this.#admin = null
    await (await admin)?.end()
  }

  urlOf(name: string): string {
    const url = new URL(this.#server)
    url.pathname = `/${name}`
    return url.href
  }

  async #lend(name: string, { of }: Template): Promise<boolean> {
    return (await this.#ask(lend(of, name))).length > 0
  }

  async #washed(name: string, { print, seeds }: Template): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.urlOf(name) })
    client.on('error', () => {})
    try {
      await client.connect()
    } catch {
      // Dropped, closed or renamed by the test itself.
      return false
    }
    try {
      const [{ pid }] = (await client.query('SELECT pg_backend_pid() AS pid')).rows
      await this.#ask(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      const others = `FROM pg_stat_activity WHERE datname = '${name}' AND pid <> ${pid}`
      while ((await this.#ask(`SELECT pg_terminate_backend(pid) ${others}`)).length > 0) {
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      if ((await fingerprint(client)) !== print) return false
      await cleanDatabase(client, seeds)
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }

  async #findTemplate(): Promise<Template> {
    const of = await this.kind()
    const name = templateName(of)
    const look = `SELECT shobj_description(oid, 'pg_database') AS comment FROM pg_database WHERE datname = '${name}' AND datistemplate`
    return this.#locked(async () => {
      if ((await this.#ask(look)).length === 0) await this.#makeTemplate(name)
      const [{ comment } = {}] = await this.#ask(look)
      return { name, of, ...(JSON.parse(comment as string) as { print: string; seeds: Seeds }) }
    })
  }

  async #makeTemplate(name: string): Promise<void> {
    await this.drop(name)
    await this.#ask(`CREATE DATABASE ${name} TEMPLATE template0`)
    const store = await openStore(this.urlOf(name))
    await store.migrate()
    await store.close()
    const client = new pg.Client({ connectionString: this.urlOf(name) })
    await client.connect()
    const about = JSON.stringify({ print: await fingerprint(client), seeds: await readSeeds(client) })
    await client.end()
    // Its last step makes it a template: a database without the flag was left by a builder that was killed.
    await this.#ask(`COMMENT ON DATABASE ${name} IS ${pg.escapeLiteral(about)};
      ALTER DATABASE ${name} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`)
  }

  /** Of databases that are interchangeable. */
  async kind(): Promise<string> {
    const hash = createHash('sha256')
      .update(this.#apart)
      .update(readFileSync(new URL('baseline.sql', STORE)))
    for (const folder of SCHEMA) {
      for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(new URL(file, folder)))
    }
    const [{ version } = {}] = await this.#ask('SELECT version() AS version')
    return hash
      .update(version as string)
      .digest('hex')
      .slice(0, 16)
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    await this.#ask(`SELECT pg_advisory_lock(${LOCK})`)
    try {
      return await work()
    } finally {
      await this.#ask(`SELECT pg_advisory_unlock(${LOCK})`)
    }
  }

  /** The rows of the last statement. */
  async #ask(statements: string): Promise<Record<string, unknown>[]> {
    this.#admin ??= this.#connect()
    const admin = await this.#admin
    const results = [await admin.query(statements)].flat()
    return results.at(-1)?.rows ?? []
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#server, application_name: 'petrel tests' })
    client.on('error', () => {
      this.#admin = null
    })
    await client.connect()
    // Open as long as the process, but does not keep it alive. (Not in the types of pg.)
    const { unref } = client as unknown as { unref(): void }
    unref.call(client)
    return client
  }
}

function freeOnes(of: string): string {
  return `SELECT datname AS name FROM pg_database
    WHERE NOT datallowconn AND shobj_description(oid, 'pg_database') = 'free ${of}' ORDER BY oid`
}

/** Under the lock: of two concurrent callers the second finds the next one. Returns a row if there was one. */
function lend(of: string, name: string): string {
  return `DO $$ DECLARE free text; BEGIN
      PERFORM pg_advisory_xact_lock(${LOCK});
      free := (${freeOnes(of)} LIMIT 1);
      IF free IS NULL THEN RETURN; END IF;
      EXECUTE format('ALTER DATABASE %I RENAME TO ${name}', free);
      COMMENT ON DATABASE ${name} IS NULL;
      ALTER DATABASE ${name} ALLOW_CONNECTIONS true;
    END $$;
    SELECT FROM pg_database WHERE datname = '${name}'`
}

function newName(): string {
  return `petrel_test_${process.pid}_${randomBytes(6).toString('hex')}`
}

export function templateName(of: string): string {
  return `petrel_template_${of}`
}
