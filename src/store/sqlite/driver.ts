/**
 * The SQLite binding: `node:sqlite` if Node has it, otherwise `@photostructure/sqlite` (same API, for Node 20).
 * Rows come as arrays: an object per row, with every column set by name, takes twice the time.
 */

export type Value = string | number | null
export type Cells = readonly Value[]

export interface Statement {
  /** The first row; also the cheapest way to run a write: `run` builds an unused object with counts. */
  get(...values: Value[]): Cells | undefined
  all(...values: Value[]): Cells[]
  run(...values: Value[]): { readonly changes: number | bigint }
}

export interface Database {
  readonly isTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): Statement
  /** Absent if the binding has no such mode: then it is off. */
  enableDefensive?(on: boolean): void
  close(): void
}

interface ArrayStatement extends Statement {
  setReturnArrays(on: boolean): void
}

interface Binding {
  readonly DatabaseSync: new (path: string) => Database
  readonly StatementSync: { readonly prototype: object }
}

export async function openDatabase(path: string): Promise<Database> {
  const binding = builtIn() ?? ((await import('@photostructure/sqlite')) as unknown as Binding)
  return new binding.DatabaseSync(path)
}

/** Early versions of node:sqlite can only return objects: they are not used. */
function builtIn(): Binding | null {
  const emit = process.emitWarning
  process.emitWarning = (() => {}) as typeof process.emitWarning
  try {
    const binding = process.getBuiltinModule('node:sqlite') as unknown as Binding | undefined
    return binding && 'setReturnArrays' in binding.StatementSync.prototype ? binding : null
  } finally {
    process.emitWarning = emit
  }
}

export function prepareArrays(database: Database, sql: string): Statement {
  const statement = database.prepare(sql) as ArrayStatement
  statement.setReturnArrays(true)
  return statement
}

export function hasBuiltIn(): boolean {
  return builtIn() !== null
}
