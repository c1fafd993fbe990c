/** Restores a database used by a test to its state right after the migrations. */
import pg from 'pg'

/** The rows that the migrations inserted, by table. */
export type Seeds = { readonly [table: string]: readonly unknown[] }

/** The catalogs of user-defined objects, and the column that distinguishes them from the server's own. */
const CATALOGS = {
  pg_attrdef: 'adrelid',
  pg_attribute: 'attrelid',
  pg_cast: 'oid',
  pg_constraint: 'oid',
  pg_default_acl: 'oid',
  pg_event_trigger: 'oid',
  pg_extension: 'oid',
  pg_index: 'indexrelid',
  pg_inherits: 'inhrelid',
  pg_largeobject_metadata: 'oid',
  pg_policy: 'oid',
  pg_proc: 'oid',
  pg_publication: 'oid',
  pg_rewrite: 'oid',
  pg_statistic_ext: 'oid',
  pg_trigger: 'oid',
  pg_type: 'oid',
}
const FIRST_OF_PEOPLE = 16_384

/** These columns of pg_class change with the rows, and when a table is truncated. */
const RELATION = `(to_jsonb(c) - '{relfilenode,relpages,reltuples,relallvisible,relfrozenxid,relminmxid}'::text[])::text`

const FINGERPRINT = [
  ...Object.entries(CATALOGS).map(([name, column]) => hashOf(name, 'c::text', `${column} >= ${FIRST_OF_PEOPLE}`)),
  hashOf('pg_class', RELATION, `oid >= ${FIRST_OF_PEOPLE} AND relkind <> 't'`),
  hashOf('pg_namespace', 'c::text', `nspname !~ '^pg_t'`),
  hashOf('pg_db_role_setting', 'setconfig::text', `setdatabase <> 0 AND setdatabase = ${thisDatabase('oid')}`),
].join(' || ')

/** Changes when anything but rows changes: a table, a disabled trigger, a grant, a setting. */
export async function fingerprint(client: pg.Client): Promise<string> {
  const { rows } = await client.query(`SELECT md5(${FINGERPRINT}) AS print`)
  return rows[0].print
}

export async function readSeeds(client: pg.Client): Promise<Seeds> {
  const { rows: tables } = await client.query(`SELECT oid::regclass::text AS name FROM pg_class WHERE ${FILLED}`)
  const seeds: Record<string, readonly unknown[]> = {}
  for (const { name } of tables) {
    const { rows } = await client.query(`SELECT ${rowsOf('t')} AS rows FROM ${name} t`)
    // null: a page with dead rows only.
    if (rows[0].rows !== null) seeds[name] = rows[0].rows
  }
  return seeds
}

/**
 * TRUNCATE creates new files for a table and its indexes, 20 for runs; DELETE leaves dead rows that later scans must
 * skip.
 */
const SMALL_BYTES = 65_536

export async function cleanDatabase(client: pg.Client, seeds: Seeds): Promise<void> {
  await restoreRows(client, seeds, RESTART)
}

/** Sequences continue from their current values: a store that stays open remembers the last ones. */
export async function emptyTables(client: pg.Client, seeds: Seeds): Promise<void> {
  await restoreRows(client, seeds, '')
}

const RESTART = `PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence
  WHERE pg_sequence_last_value(seqrelid) IS NOT NULL;`

/** All or nothing. */
async function restoreRows(client: pg.Client, seeds: Seeds, more: string): Promise<void> {
  const given = Object.keys(seeds).map((name) => pg.escapeLiteral(name))
  const restored = Object.entries(seeds).map(([name, rows]) => restore(name, pg.escapeLiteral(JSON.stringify(rows))))
  // replica: triggers are off. TRUNCATE, and of every table that has a page, so dead rows are removed as well.
  await client.query(`BEGIN; SET LOCAL session_replication_role = replica;
    DO $$ DECLARE used record; BEGIN
      FOR used IN SELECT oid::regclass::text AS name, pg_relation_size(oid) > ${SMALL_BYTES} AS large FROM pg_class
        WHERE ${FILLED} AND oid::regclass::text <> ALL (ARRAY[${given.join(', ')}]::text[])
      LOOP
        EXECUTE CASE WHEN used.large THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || used.name;
      END LOOP;
      ${more}
      ${restored.join('\n')}
    END $$;
    SELECT pg_stat_reset(); COMMIT`)
}

const FILLED = `relkind = 'r' AND oid >= ${FIRST_OF_PEOPLE} AND pg_relation_size(oid) > 0`

function restore(name: string, rows: string): string {
  return `IF (SELECT ${rowsOf('t')} FROM ${name} t) IS DISTINCT FROM ${rows}::jsonb THEN
    DELETE FROM ${name};
    INSERT INTO ${name} SELECT * FROM jsonb_populate_recordset(NULL::${name}, ${rows}::jsonb);
  END IF;`
}

function rowsOf(table: string): string {
  return `jsonb_agg(to_jsonb(${table}) ORDER BY to_jsonb(${table}))`
}

function hashOf(catalog: string, row: string, condition: string): string {
  return `(SELECT coalesce(md5(string_agg(${row}, '' ORDER BY ${row})), '') FROM ${catalog} c WHERE ${condition})`
}

function thisDatabase(column: string): string {
  return `(SELECT ${column} FROM pg_database WHERE datname = current_database())`
}
