/** The tools a worker has, by kind. */
import { type Credentials, ownCredentials } from './credentials.ts'
import { Guard, type Resolve } from './http/guard.ts'
import { httpTool } from './http/http.ts'
import { noop } from './noop.ts'
import { javascriptTool } from './process/javascript.ts'
import { pythonTool } from './process/python.ts'
import { shell } from './process/shell.ts'
import { duckdbTool } from './sql/duckdb.ts'
import { postgresTool } from './sql/postgres.ts'
import { DatabaseGuard } from './sql/postgres-guard.ts'
import type { Tool } from './tool.ts'

export interface ToolsOptions {
  /**
   * Hosts, addresses and networks that `http` may reach although they are not public; true: all. Default: what the
   * environment variable PETREL_HTTP_ALLOW lists, by comma.
   */
  readonly allowPrivate?: readonly string[] | true
  /**
   * Hosts, addresses, networks and directories of Unix sockets where `postgres` may reach a database that a playbook names by its
   * address, although they are not public; true: all. Databases of named credentials need no permission. Default: what the
   * environment variable PETREL_POSTGRES_ALLOW lists, by comma.
   */
  readonly allowDatabases?: readonly string[] | true
  /** How `http` and `postgres` resolve names. Default: the system's resolver. */
  readonly resolve?: Resolve
  /** Longest answer that `http` reads, in bytes; a task may set less. Default 10 MiB. */
  readonly maxResponseBytes?: number
  /** Longest result of `python`, `javascript`, `postgres` and `duckdb`, in bytes. Default 10 MiB. */
  readonly maxResultBytes?: number
  /** Resolves `auth: name`. Default: PETREL_CREDENTIAL_<NAME>, otherwise an entry of PETREL_CREDENTIALS_FILE. */
  readonly credentials?: Credentials
  /** The interpreter of `python`. Default python3. */
  readonly python?: string
  /**
   * Folders whose files `duckdb` may read and write, its databases among them; true: any file, the network and
   * extensions. Default: what the environment variable PETREL_DUCKDB_ALLOW lists, by comma.
   */
  readonly allowFolders?: readonly string[] | true
  /** Memory limit of a `duckdb` database. Default: PETREL_DUCKDB_MEMORY, otherwise 1GB. */
  readonly duckdbMemory?: string
}

const DEFAULT_BYTES = 10 * 1024 * 1024

export class Tools {
  readonly #byKind = new Map<string, Tool>()

  /** The kinds that come with Petrel. */
  static standard(options: ToolsOptions = {}): Tools {
    const { resolve, credentials = ownCredentials } = options
    const resultBytes = options.maxResultBytes ?? DEFAULT_BYTES
    const allowPrivate = options.allowPrivate ?? listed('PETREL_HTTP_ALLOW')
    const allowFolders = options.allowFolders ?? listed('PETREL_DUCKDB_ALLOW')
    const memory = options.duckdbMemory ?? (process.env['PETREL_DUCKDB_MEMORY'] || '1GB')
    const allowDatabases = options.allowDatabases ?? listed('PETREL_POSTGRES_ALLOW')
    const resolving = resolve === undefined ? {} : { resolve }
    const guard = new Guard({
      allowPrivate,
      howToAllow: '--http-allow, PETREL_HTTP_ALLOW or allowPrivate',
      ...resolving,
    })
    const databases = new DatabaseGuard({ allowDatabases, ...resolving })
    return new Tools()
      .add(noop)
      .add(httpTool({ guard, credentials, maxBytes: options.maxResponseBytes ?? DEFAULT_BYTES }))
      .add(shell)
      .add(pythonTool({ python: options.python ?? 'python3', resultBytes }))
      .add(javascriptTool({ resultBytes }))
      .add(postgresTool({ credentials, guard: databases, resultBytes }))
      .add(duckdbTool({ allowFolders, memory, resultBytes }))
  }

  /** Replaces a tool of the same kind. */
  add(tool: Tool): this {
    this.#byKind.set(tool.kind, tool)
    return this
  }

  find(kind: string): Tool | null {
    return this.#byKind.get(kind) ?? null
  }

  kinds(): readonly string[] {
    return [...this.#byKind.keys()]
  }
}

function listed(variable: string): readonly string[] {
  return (process.env[variable] ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
