// @ts-check
/**
 * Reads the catalog of a database that has the numbered migrations. Views, triggers and functions are left out, since
 * the repeatable files make them; so are the weeks of events, which depend on the day.
 */
import pg from 'pg'
import { startServices } from '../services.mjs'

const NAME = 'petrel_baseline'
const PARTITION = `^workflow_event_\\d{8}`

/** @param {readonly string[]} migrations @returns {Promise<readonly string[]>} */
export async function postgresBaseline(migrations) {
  const services = await startServices()
  try {
    if (services.postgresUrl === null) throw new Error('the baseline is read from a Postgres, which is not installed')
    const admin = await connect(services.postgresUrl)
    await admin.query(`DROP DATABASE IF EXISTS ${NAME}`)
    await admin.query(`CREATE DATABASE ${NAME} TEMPLATE template0`)
    const url = new URL(services.postgresUrl)
    url.pathname = `/${NAME}`
    const client = await connect(url.toString())
    try {
      await client.query('CREATE SCHEMA workflow')
      for (const sql of migrations) await client.query(sql)
      return await statementsOf(client)
    } finally {
      await client.end()
      await admin.query(`DROP DATABASE ${NAME}`)
      await admin.end()
    }
  } finally {
    await services.stop()
  }
}

/** @param {string} connectionString */
async function connect(connectionString) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}

/** @param {pg.Client} client @returns {Promise<readonly string[]>} */
async function statementsOf(client) {
  /** @param {string} sql @returns {Promise<readonly string[]>} */
  const lines = async (sql) => (await client.query(sql)).rows.map(({ text }) => text)
  const before = [...(await lines(SCHEMAS)), ...(await lines(SEQUENCES))]
  const tables = (await client.query(TABLES)).rows.map(tableText)
  const after = [...(await lines(OWNERS)), ...(await lines(INDEXES)), ...(await lines(COMMENTS))]
  return [...before, ...tables, ...after, ...(await rowsOf(client))]
}

/** @param {{ name: string, parent: string | null, parts: readonly string[] | null, partition_key: string | null, options: string | null }} table */
function tableText({ name, parent, parts, partition_key, options }) {
  if (parent !== null) return `CREATE TABLE ${name} PARTITION OF ${parent} DEFAULT`
  const body = `CREATE TABLE ${name} (\n  ${(parts ?? []).join(',\n  ')}\n)`
  return `${body}${partition_key === null ? '' : ` PARTITION BY ${partition_key}`}${options === null ? '' : ` WITH (${options})`}`
}

/** The only row with a value of chance is the version of the registry. @param {pg.Client} client */
async function rowsOf(client) {
  const tables = (await client.query(TABLES)).rows.filter(({ parent }) => parent === null)
  /** @type {string[]} */
  const statements = []
  for (const { name, columns } of tables) {
    const values = columns.map((/** @type {string} */ column) => `quote_nullable(${column})`).join(`, `)
    const { rows } = await client.query(`SELECT concat_ws(', ', ${values}) AS row FROM ${name} ORDER BY 1`)
    for (const { row } of rows) {
      const random = row.replace(/'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'/g, 'gen_random_uuid()::text')
      statements.push(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${random})`)
    }
  }
  return statements
}

/** CREATE SCHEMA IF NOT EXISTS would demand the right to create one, even if it exists. */
const SCHEMAS = `SELECT format(E'DO $$\\nBEGIN\\n  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = %L) THEN\\n'
    '    CREATE SCHEMA %I;\\n  END IF;\\nEND\\n$$', nspname, nspname) AS text
  FROM pg_namespace WHERE nspname NOT IN ('public', 'information_schema', 'workflow') AND nspname NOT LIKE 'pg\\_%'
  ORDER BY nspname`

/** Those of identity columns come with their tables. */
const SEQUENCES = `SELECT format('CREATE SEQUENCE %s AS %s', c.oid::regclass, format_type(s.seqtypid, NULL)) AS text
  FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'i') ORDER BY c.relname`

const OWNERS = `SELECT format('ALTER SEQUENCE %s OWNED BY %s.%I', c.oid::regclass, d.refobjid::regclass, a.attname) AS text
  FROM pg_class c JOIN pg_depend d ON d.objid = c.oid AND d.deptype = 'a' AND d.refclassid = 'pg_class'::regclass
  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
  WHERE c.relkind = 'S' ORDER BY c.relname`

/** In the order in which they were made. A primary key is part of its table; it is cheaper there than afterwards. */
const TABLES = `SELECT c.oid::regclass::text AS name, i.inhparent::regclass::text AS parent,
    pg_get_partkeydef(c.oid) AS partition_key, array_to_string(c.reloptions, ', ') AS options,
    (SELECT array_agg(format('%I', a.attname)::text ORDER BY a.attnum) FROM pg_attribute a
     WHERE a.attrelid = c.oid AND a.attnum > 0) AS columns,
    (SELECT array_agg(part ORDER BY place, made) FROM (
       SELECT 0 AS place, a.attnum::bigint AS made, concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
         CASE WHEN a.attcollation <> t.typcollation THEN 'COLLATE ' || quote_ident(l.collname) END,
         CASE WHEN a.attidentity = 'a' THEN 'GENERATED ALWAYS AS IDENTITY' END,
         'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
         CASE WHEN a.attnotnull THEN 'NOT NULL' END) AS part
       FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
       LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
       LEFT JOIN pg_collation l ON l.oid = a.attcollation
       WHERE a.attrelid = c.oid AND a.attnum > 0
       UNION ALL
       SELECT 1, k.oid::bigint, format('CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid))
       FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'c', 'f')) p) AS parts
  FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
  WHERE c.relnamespace = 'workflow'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname !~ '${PARTITION}' ORDER BY c.oid`

/** A partition gets the indexes of the whole table by itself. */
const INDEXES = `SELECT replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') AS text
  FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid JOIN pg_class t ON t.oid = x.indrelid
  WHERE c.relnamespace = 'workflow'::regnamespace AND t.relname !~ '${PARTITION}' AND NOT c.relispartition
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid AND k.contype IN ('p', 'u'))
  ORDER BY c.oid`

const COMMENTS = `SELECT format('COMMENT ON %s %s IS %L', CASE c.relkind WHEN 'i' THEN 'INDEX' WHEN 'I' THEN 'INDEX'
    WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass, d.description) AS text
  FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0
  WHERE c.relnamespace = 'workflow'::regnamespace AND c.relkind IN ('r', 'p', 'i', 'I', 'S') ORDER BY c.relname`
