/** Views, triggers and functions are in files that are applied again when they have changed (decision 031). */
import { readFileSync } from 'node:fs'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Repeatable, readSchemaFiles, type SchemaFiles } from '../../src/store/schema-files.ts'
import { SCHEMA_STORES, type SchemaSubject } from './schema-subject.ts'

const revisions: Readonly<Record<string, readonly { readonly checksum: string; readonly makes: readonly string[] }[]>> =
  JSON.parse(readFileSync(new URL('repeatable-revisions.json', import.meta.url), 'utf8'))

/** As they are named in the revisions: `view workflow_step`, `trigger inbox_delete ON workflow_run`. */
function madeBy({ sql }: Repeatable): readonly string[] {
  const created = sql.matchAll(/^CREATE (?:OR REPLACE )?(FUNCTION|VIEW|TRIGGER) (\S+?)(?=[\s(])(?:[^;]*?\sON (\S+))?/gm)
  return [...created].map(([, kind, name, table]) =>
    kind === 'TRIGGER' ? `trigger ${name} ON ${table}` : `${kind?.toLowerCase()} ${name}`,
  )
}

/** The file of this name with another text. */
function withText(files: SchemaFiles, name: string, change: (file: Repeatable) => Partial<Repeatable>): SchemaFiles {
  return {
    ...files,
    repeatables: files.repeatables.map((file) =>
      file.name === name ? { ...file, checksum: `changed ${file.checksum}`, ...change(file) } : file,
    ),
  }
}

function withMigration(files: SchemaFiles, sql: string): SchemaFiles {
  const version = files.migrations.length + 1
  return { ...files, migrations: [...files.migrations, { version, name: 'next', sql, checksum: 'next' }] }
}

describe.each(SCHEMA_STORES.filter((store) => store.installed))('repeatable files on $name', (store) => {
  const { prefix, before } = store
  let files: SchemaFiles
  let subject: SchemaSubject

  beforeAll(async () => {
    files = readSchemaFiles(store.name)
  })
  beforeEach(async () => {
    subject = await store.open()
  })
  afterEach(async () => subject.close())

  const names = () => files.repeatables.map((file) => file.name)
  const ledger = () => subject.sql(`SELECT name, revision, checksum FROM ${prefix}workflow_repeatable ORDER BY name`)

  async function schemaOfNew(): Promise<readonly string[]> {
    const other = await store.open()
    await other.migrate(files)
    const schema = await other.schema()
    await other.close()
    return schema
  }

  it('are applied in order to a new database, once', async () => {
    const first = await subject.migrate(files)
    expect(first.repeatables).toEqual(names())
    expect(first.applied).toHaveLength(files.migrations.length)
    expect(await subject.migrate(files)).toEqual({ applied: [], repeatables: [], version: first.version })
  })

  it('give a database of any earlier release the same schema as a new one', async () => {
    const expected = await schemaOfNew()
    for (const version of [1, 6, 11, 12, before]) {
      const old = await store.open()
      await old.applyNumbered(files, version)
      const { applied, repeatables } = await old.migrate(files)
      expect([applied.length, repeatables]).toEqual([files.migrations.length - version, names()])
      expect(await old.schema(), `from version ${version}`).toEqual(expected)
      await old.close()
    }
  })

  it('create every existing view, trigger and function', async () => {
    await subject.migrate(files)
    const made = new Set(files.repeatables.flatMap(madeBy).map((name) => name.replaceAll('workflow.', '')))
    const found = store.name === 'sqlite' ? OBJECTS_OF_SQLITE : OBJECTS_OF_POSTGRES
    const objects = (await subject.sql(found)).map(({ object }) => String(object).replaceAll('workflow.', ''))
    expect(objects.toSorted()).toEqual([...made].toSorted())
  })

  it('are applied again when they have changed, each alone', async () => {
    await subject.migrate(files)
    const schema = await subject.schema()
    const changed = withText(files, '30_views', ({ sql }) => ({
      sql: sql.replace("'leased' AND r.", "'leased' AND 1 = 1 AND r."),
    }))
    expect(await subject.migrate(changed)).toMatchObject({ applied: [], repeatables: ['30_views'] })
    const [now, past] = [new Set(await subject.schema()), new Set(schema)]
    const differences = [...now].filter((text) => !past.has(text))
    expect(differences).toEqual([expect.stringContaining('workflow_history')])
    expect(await subject.migrate(changed)).toMatchObject({ repeatables: [] })

    // As after a change of branches.
    expect(await subject.migrate(files)).toMatchObject({ applied: [], repeatables: ['30_views'] })
    expect((await subject.schema()).toSorted()).toEqual(schema.toSorted())
  })

  it('are all applied again after a numbered migration, which may have dropped their objects', async () => {
    await subject.migrate(files)
    const schema = await subject.schema()
    const { applied, repeatables } = await subject.migrate(withMigration(files, `DROP VIEW ${prefix}workflow_step`))
    expect([applied.length, repeatables]).toEqual([1, names()])
    expect((await subject.schema()).toSorted()).toEqual(schema.toSorted())
  })

  it('that fail leave the database as it was, including the migrations before them', async () => {
    await subject.migrate(files)
    const state = async () => [await subject.schema(), await ledger()]
    const was = await state()
    const broken = withText(files, '80_registry', ({ sql }) => ({ sql: `${sql}\nNONSENSE;` }))
    const both = withText(broken, '30_views', () => ({}))
    await expect(subject.migrate(both)).rejects.toThrow()
    await expect(subject.migrate(withMigration(broken, `CREATE TABLE ${prefix}extra (a int)`))).rejects.toThrow()
    expect(await state()).toEqual(was)
    expect(await subject.migrate(files)).toMatchObject({ applied: [], repeatables: [] })
  })

  it('that are newer than those of this build are refused, and not changed', async () => {
    const newer = withText(files, '30_views', ({ revision }) => ({ revision: revision + 1 }))
    await subject.migrate(newer)
    const schema = await subject.schema()
    const refusal = (what: string) => ({ code: 'schema_newer', message: expect.stringContaining(what) })
    await expect(subject.migrate(files)).rejects.toMatchObject(refusal('repeatable/30_views'))
    const unknown = { name: '99_future', revision: 1, sql: '', checksum: 'future' }
    await subject.migrate({ ...newer, repeatables: [...newer.repeatables, unknown] })
    await expect(subject.migrate(newer)).rejects.toMatchObject(refusal('repeatable/99_future'))
    expect(await subject.schema()).toEqual(schema)
  })

  it('have a new revision for every new text', () => {
    for (const file of files.repeatables) {
      const known = revisions[`${store.name}/${file.name}`] ?? []
      const advice = `${store.name}/${file.name} has changed: give it the next revision and record that in repeatable-revisions.json`
      expect([known.length, known.at(-1)], advice).toEqual([
        file.revision,
        { checksum: file.checksum, makes: madeBy(file) },
      ])
    }
  })

  it('are followed by a migration that drops what they no longer create', () => {
    const made = new Set(files.repeatables.flatMap(madeBy))
    const dropped = files.migrations.map((migration) => migration.sql).join('\n')
    for (const [name, history] of Object.entries(revisions)) {
      if (!name.startsWith(`${store.name}/`)) continue
      for (const gone of history.flatMap((revision) => revision.makes).filter((object) => !made.has(object))) {
        const [kind, object] = gone.split(' ') as [string, string]
        expect(dropped, gone).toMatch(new RegExp(`DROP ${kind.toUpperCase()} (IF EXISTS )?${object}\\b`))
      }
    }
  })
})

const OBJECTS_OF_SQLITE = `SELECT CASE type WHEN 'view' THEN 'view ' || name ELSE 'trigger ' || name || ' ON ' || tbl_name END AS object
  FROM sqlite_master WHERE type IN ('view', 'trigger')`

const OBJECTS_OF_POSTGRES = `SELECT 'function ' || n.nspname || '.' || p.proname AS object
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('workflow', 'saga')
  UNION ALL
  SELECT 'view ' || c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname IN ('workflow', 'saga') AND c.relkind = 'v'
  UNION ALL
  SELECT 'trigger ' || t.tgname || ' ON ' || t.tgrelid::regclass FROM pg_trigger t
  WHERE NOT t.tgisinternal AND t.tgparentid = 0`

const POSTGRES = SCHEMA_STORES.filter((store) => store.installed && store.name === 'postgres')

describe.each(POSTGRES)('repeatable files on postgres', (store) => {
  let files: SchemaFiles
  let subject: SchemaSubject

  beforeEach(async () => {
    files = readSchemaFiles('postgres')
    subject = await store.open()
    await subject.migrate(files)
  })
  afterEach(async () => subject.close())

  it('keep the rights that roles have, and views of others that depend on theirs', async () => {
    await subject.sql(`GRANT SELECT ON workflow.workflow_step TO PUBLIC; GRANT EXECUTE ON FUNCTION workflow.clock() TO PUBLIC;
      CREATE VIEW public.report AS SELECT * FROM saga.workflow_instance; INSERT INTO workflow.workflow_queue VALUES ('q')`)
    const schema = await subject.schema()
    await subject.migrate(withMigration(files, 'SELECT 1'))
    expect(await subject.schema()).toEqual(schema)
    expect(await subject.sql('SELECT * FROM public.report')).toEqual([])
  })

  it('give no function of a trigger to other roles', async () => {
    const open = await subject.sql(`SELECT oid::regprocedure::text AS name FROM pg_proc
      WHERE pronamespace = 'workflow'::regnamespace AND has_function_privilege('public', oid, 'EXECUTE')
        AND (prosecdef OR proname ~ '^(inbox|registry)_')`)
    expect(open).toEqual([])
  })
})
