// @ts-check
/** A table keeps the text that made it, with later columns added: SQLite reports what is needed. */

/** @param {readonly string[]} migrations @returns {Promise<readonly string[]>} */
export async function sqliteBaseline(migrations) {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(':memory:')
  for (const sql of migrations) database.exec(sql)
  const made = database
    .prepare(
      `SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
       ORDER BY rowid`,
    )
    .all()
    .map(({ sql }) => String(sql))
  const rows = database
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid`)
    .all()
    .flatMap(({ name }) => rowsOf(database, String(name)))
  database.close()
  return [...made, ...rows]
}

/** @typedef {Record<string, string>} Row */

/** @param {any} database @param {string} table */
function rowsOf(database, table) {
  /** @param {string} sql @returns {Row[]} */
  const all = (sql) => database.prepare(sql).all()
  const columns = all(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`).map(({ name }) => name)
  const values = columns.map((name) => `quote("${name}")`).join(` || ', ' || `)
  return all(`SELECT ${values} AS row FROM "${table}" ORDER BY 1`).map(
    ({ row }) => `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${row})`,
  )
}
