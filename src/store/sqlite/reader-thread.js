/**
 * A thread with a connection of its own, for reads that may take long. It answers one read at a time, within one transaction
 * that ends with `done`, so that a read of several statements sees one state of the file. Plain JavaScript, since a thread
 * is started from a file as it is.
 */
import { parentPort, workerData } from 'node:worker_threads'

const { path, builtIn } = workerData
const { DatabaseSync } = builtIn ? process.getBuiltinModule('node:sqlite') : await import('@photostructure/sqlite')
const database = new DatabaseSync(path, { readOnly: true })
database.exec('PRAGMA busy_timeout = 5000')
const statements = new Map()

function prepared(sql) {
  let statement = statements.get(sql)
  if (statement === undefined) {
    if (statements.size > 500) statements.clear()
    statement = database.prepare(sql)
    statement.setReturnArrays(true)
    statements.set(sql, statement)
  }
  return statement
}

parentPort.on('message', ({ sql, values, one, done, close }) => {
  try {
    if (close) {
      statements.clear()
      database.close()
      parentPort.close()
    } else if (done) {
      if (database.isTransaction) database.exec('ROLLBACK')
    } else {
      if (!database.isTransaction) database.exec('BEGIN')
      const statement = prepared(sql)
      const first = one ? statement.get(...values) : undefined
      parentPort.postMessage({ rows: one ? (first === undefined ? [] : [first]) : statement.all(...values) })
    }
  } catch (error) {
    parentPort.postMessage({ error: { message: error.message, code: error.code, errcode: error.errcode } })
  }
})
