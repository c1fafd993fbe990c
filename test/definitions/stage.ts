/** A database and the processes that work on it, each with its own store, engine, catalog and events. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, describe } from 'vitest'
import type { EngineOptions } from '../../src/engine/api.ts'
import { Engine } from '../../src/engine/engine.ts'
import type { InstanceRow, StoredEvent } from '../../src/model/rows.ts'
import { SLOT } from '../../src/net/slots.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { Catalog } from '../../src/operations/definitions/catalog.ts'
import { Events } from '../../src/operations/definitions/events.ts'
import { openStore } from '../../src/store/open.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

export interface Process {
  readonly engine: Engine
  readonly store: Store
  readonly catalog: Catalog
  readonly events: Events
}

export interface Stage {
  readonly kind: 'sqlite' | 'postgres'
  /** One more process on the database of this test. It sweeps only on request. */
  open(options?: Partial<EngineOptions>): Promise<Process>
  url(): Promise<string>
  /** Plain SQL on the database; tables without a schema prefix. */
  sql(text: string): Promise<void>
}

interface Place {
  readonly url: string
  drop(): Promise<void>
}

export function onBothStores(name: string, suite: (stage: Stage) => void): void {
  describe(`${name} (sqlite)`, () => suite(stageOn('sqlite', sqliteFile)))
  describe.skipIf(postgresUrl() === null)(`${name} (postgres)`, () => suite(stageOn('postgres', freshDatabase)))
}

async function sqliteFile(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-definitions-'))
  return {
    url: `sqlite:${join(folder, 'petrel.db')}`,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

function stageOn(kind: Stage['kind'], fresh: () => Promise<Place>): Stage {
  const opened: Process[] = []
  let place: Promise<Place> | null = null

  afterEach(async () => {
    for (const { engine, store } of opened.splice(0)) {
      await engine.close()
      await store.close()
    }
    await (await place)?.drop()
    place = null
  })

  const url = async (): Promise<string> => {
    place ??= fresh()
    return (await place).url
  }
  return {
    kind,
    url,
    async sql(text) {
      if (kind === 'sqlite') {
        const database = await openDatabase((await url()).slice('sqlite:'.length))
        database.exec(text)
        return database.close()
      }
      const client = new pg.Client({ connectionString: await url(), options: '-c search_path=workflow' })
      await client.connect()
      await client.query(text)
      await client.end()
    },
    async open(options = {}) {
      const store = await openStore(await url())
      await store.migrate()
      const engine = await Engine.open({ vocabularies: VOCABULARIES, store, sweep: false, pollMs: 60_000, ...options })
      const process = {
        engine,
        store,
        catalog: new Catalog({ engine, logger: null }),
        events: new Events({ engine, logger: null }),
      }
      opened.push(process)
      return process
    },
  }
}

export interface Dag {
  readonly name?: string
  readonly version?: string
  readonly trigger?: string
  readonly steps?: string
  /** Further lines of the spec. */
  readonly spec?: string
}

export function dag({ name = 'onboarding', version, trigger, steps = 'create', spec = '' }: Dag = {}): string {
  return `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: ${name}${version === undefined ? '' : `, version: '${version}'`} }
spec:
${trigger === undefined ? '' : `  trigger: ${trigger}\n`}${spec === '' ? '' : `  ${spec}\n`}  steps:
${steps
  .split(' ')
  .map((step) => `    - { name: ${step}, timeout: 5m }`)
  .join('\n')}
`
}

export const NOBODY = { tenant: null, actor: null } as const

export function deploy(
  { catalog }: Pick<Process, 'catalog'>,
  text: string,
  by: { readonly tenant?: string | null; readonly actor?: string | null } = {},
): ReturnType<Catalog['deploy']> {
  return catalog.deploy({ file: 'flow.yaml', text, tenant: null, actor: null, ...by })
}

export function start(
  { catalog }: Pick<Process, 'catalog'>,
  name: string,
  more: Partial<Parameters<Catalog['start']>[0]> = {},
): ReturnType<Catalog['start']> {
  return catalog.start({ name, version: null, input: null, ...NOBODY, ...more })
}

export function publish(
  { events }: Pick<Process, 'events'>,
  type: string,
  more: Partial<Parameters<Events['publish']>[0]> = {},
): ReturnType<Events['publish']> {
  return events.publish({ type, payload: {}, id: null, ...NOBODY, ...more })
}

export async function instances({ store }: Pick<Process, 'store'>, name: string): Promise<readonly InstanceRow[]> {
  const query = { states: null, name, dialect: null, tenant: null, rootsOnly: true, limit: 500, before: null }
  return store.read.listInstances(query)
}

/** What an instance records about its origin. */
export async function metaOf({ store }: Pick<Process, 'store'>, instanceId: string): Promise<Record<string, unknown>> {
  const [slot] = await store.read.slots({ instanceId, prefix: SLOT.about.prefix })
  return (JSON.parse(slot?.value ?? '{}') as { meta?: Record<string, unknown> }).meta ?? {}
}

export async function recorded({ store }: Pick<Process, 'store'>, type: string): Promise<readonly StoredEvent[]> {
  const all = await store.read.feed({ afterId: 0, limit: 1000 })
  return all.filter((event) => event.type === type)
}

/** The code and details of the error it threw; throws if it did not. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ readonly code: string; readonly message: string; readonly details: Record<string, unknown> }> {
  try {
    await promise
  } catch (error) {
    return error as Awaited<ReturnType<typeof refusal>>
  }
  throw new Error('it was not refused')
}
