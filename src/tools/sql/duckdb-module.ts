/**
 * DuckDB, if it is installed: an optional package with a binary for each platform, loaded when it is first needed.
 * The part of its interface that we use is declared here, because a build must not need the package either.
 */
import { createRequire } from 'node:module'

type Settings = Readonly<Record<string, string>>

export interface Duckdb {
  readonly DuckDBInstance: {
    create(path: string, settings: Settings): Promise<Instance>
    /** One instance for all tasks that have the file open. */
    fromCache(path: string, settings: Settings): Promise<Instance>
  }
  readonly DuckDBTypeId: { readonly DECIMAL: number }
  readonly JsonDuckDBValueConverter: Converter
}

export interface Instance {
  connect(): Promise<Connection>
  closeSync(): void
}

export interface Connection {
  run(sql: string): Promise<unknown>
  runAndReadAll(sql: string): Promise<{ getRows(): readonly (readonly unknown[])[] }>
  extractStatements(sql: string): Promise<{ readonly count: number; prepare(index: number): Promise<Prepared> }>
  interrupt(): void
  closeSync(): void
}

interface Prepared {
  bind(values: readonly unknown[]): void
  stream(): Promise<Result>
  destroySync(): void
}

export interface Result {
  readonly returnType: number
  readonly rowsChanged: number
  deduplicatedColumnNames(): readonly string[]
  yieldConvertedRows(converter: Converter): AsyncIterableIterator<readonly (readonly unknown[])[]>
}

export type Converter = (value: unknown, type: { readonly typeId: number }, converter: Converter) => unknown

const require = createRequire(import.meta.url)

/** The module, or why it is missing. */
export function loadDuckdb(): { readonly duckdb: Duckdb } | { readonly missing: string } {
  try {
    return { duckdb: require('@duckdb/node-api') as Duckdb }
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    return { missing: `kind duckdb needs the package @duckdb/node-api, which cannot be loaded: ${reason}` }
  }
}
