/** Opens an engine from --store, --data and the environment. */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { EngineApi, EngineOptions } from '../../engine/api.ts'
import type { Store } from '../../store/store.ts'
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
  readonly engine?: Omit<EngineOptions, 'store'>
}

/** `migrate: false` leaves a new database empty: for the command that shows what it applies. */
export async function connectStore(
  options: Shared,
  how: { readonly create: boolean; readonly migrate?: boolean },
): Promise<Store> {
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
  const { openStore } = await import('../../store/open.ts')
  const store = await openStore(url)
  if (how.create && how.migrate !== false) {
    try {
      await store.migrate()
    } catch (error) {
      await store.close()
      throw error
    }
  }
  return store
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
  const store = await connectStore(options, how)
  try {
    const [{ Engine }, { VOCABULARIES }] = await Promise.all([
      import('../../engine/engine.ts'),
      import('../../notations/vocabularies.ts'),
    ])
    return await Engine.open({ store, vocabularies: VOCABULARIES, ...how.engine })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Opens, runs the body, closes; a command that only reads or changes one thing does not sweep. */
export async function withEngine<T>(options: Shared, body: (engine: EngineApi) => Promise<T>): Promise<T> {
  const engine = await connect(options, { create: false, engine: { sweep: false } })
  try {
    return await body(engine)
  } finally {
    await engine.close()
    await engine.store.close()
  }
}

function sqliteFile(url: string): string | null {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  return path === undefined || path === ':memory:' ? null : path
}
