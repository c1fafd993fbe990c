/** Opens an engine from --store, --data and the environment. */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { OpenOptions } from '../../client/open.ts'
import type { EngineApi } from '../../engine/api.ts'
import { type Caller, operator } from '../../operations/caller.ts'
import type { Perform } from '../../operations/operation.ts'
import type { Store } from '../../store/open.ts'
import { actor } from '../lookup.ts'
import type { ShellReading } from '../run/reading.ts'
import type { Shared } from '../terminal/act.ts'
import { CliError } from '../terminal/failure.ts'

export function storeUrl(options: Shared): string {
  return options.store ?? `sqlite:${join(options.data ?? '.petrel', 'petrel.db')}`
}

/** The URL without its password, for display. */
export function shownUrl(url: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^:@/]*):[^@/]*@/, '$1:***@')
}

export interface ConnectHow {
  /** true: create the database if it does not exist, and migrate it. false: it must exist. */
  readonly create: boolean
  readonly engine?: Omit<OpenOptions, 'migrate'>
}

/** The store with its schema as it is, for the command that migrates it. */
export async function connectStore(options: Shared): Promise<Store> {
  const url = databaseUrl(options, { create: true })
  const { openStore } = await import('../../store/open.ts')
  return openStore(url)
}

function databaseUrl(options: Shared, how: Pick<ConnectHow, 'create'>): string {
  const url = storeUrl(options)
  const file = sqliteFile(url)
  if (file !== null && how.create) makeFolder(dirname(file))
  if (file !== null && !how.create && !existsSync(file)) {
    throw new CliError(
      'not_found',
      `there is no database ${file}`,
      '`petrel dev` or `petrel migrate` makes one; --store or --data name another',
      { store: url },
    )
  }
  return url
}

/**
 * Accessible to its owner only. An existing folder is only changed if it has our default name: another may be shared on
 * purpose.
 */
function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (basename(folder) !== '.petrel' || (statSync(folder).mode & 0o077) === 0) return
  try {
    chmodSync(folder, 0o700)
  } catch {
    process.emitWarning(`other users of this machine can enter ${folder}; as its owner: chmod 700 ${folder}`, {
      code: 'PETREL_FOLDER_OPEN',
    })
  }
}

export async function connect(options: Shared, how: ConnectHow): Promise<EngineApi> {
  const url = databaseUrl(options, how)
  const { openEngine } = await import('../../client/open.ts')
  return openEngine(url, { ...how.engine, migrate: how.create })
}

/** `sweep`: this process does what time requires, too. A command that only reads or changes one thing does not. */
async function withEngine<T>(
  options: Shared,
  body: (engine: EngineApi) => Promise<T>,
  { create, sweep }: Pick<ConnectHow, 'create'> & { readonly sweep: boolean },
): Promise<T> {
  const engine = await connect(options, { create, engine: { sweep } })
  try {
    return await body(engine)
  } finally {
    await engine.close()
  }
}

/** The same for commands that perform operations, in the name of the user of the shell. */
export async function withOperations<T>(
  options: Shared,
  body: (perform: Perform, reading: ShellReading) => Promise<T>,
  {
    create = false,
    sweep = false,
    caller = operator(actor()),
  }: { readonly create?: boolean; readonly sweep?: boolean; readonly caller?: Caller } = {},
): Promise<T> {
  const { Operations } = await import('../../operations/operation.ts')
  const perform = (engine: EngineApi) => body(new Operations({ engine, logger: null }).for(caller), engine)
  return withEngine(options, perform, { create, sweep })
}

function sqliteFile(url: string): string | null {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  return path === undefined || path === ':memory:' ? null : path
}
