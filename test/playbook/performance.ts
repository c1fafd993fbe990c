/** Plays playbooks for real: engine, worker and tools on a separate store, until each has ended. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { siblingDefinitions } from '../../src/cli/terminal/file.ts'
import { Engine } from '../../src/engine/engine.ts'
import type { InstanceRow } from '../../src/model/rows.ts'
import type { Json } from '../../src/net/net.ts'
import { makeStepHandler } from '../../src/notations/playbook/runtime/handler.ts'
import { stepTypes } from '../../src/notations/playbook/runtime/program.ts'
import type { Definition } from '../../src/notations/source/definition.ts'
import type { ReadOptions } from '../../src/notations/source/named-definitions.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { Tools } from '../../src/tools/tools.ts'
import { Handlers } from '../../src/worker/handlers.ts'
import { Worker } from '../../src/worker/worker.ts'
import type { Place } from '../engine/drive.ts'

export const EXAMPLES = fileURLToPath(new URL('../../examples/playbooks/', import.meta.url))

/** With the playbooks it names, found beside it as the command line finds them. */
export function readExample(file: string, options: ReadOptions = {}): Promise<Definition> {
  return readDefinition(file, readFileSync(join(EXAMPLES, file), 'utf8'), {
    ...siblingDefinitions(EXAMPLES),
    ...options,
  })
}

export class Performance {
  readonly engine: Engine
  readonly store: Store
  readonly #worker: Worker
  readonly #drop: () => Promise<void>

  private constructor(engine: Engine, store: Store, worker: Worker, drop: () => Promise<void>) {
    this.engine = engine
    this.store = store
    this.#worker = worker
    this.#drop = drop
  }

  static async open(
    place: Place,
    tools: Tools = Tools.standard({ allowPrivate: ['127.0.0.1'], allowDatabases: ['127.0.0.1'] }),
  ): Promise<Performance> {
    const { url, drop } = await place.open()
    const store = await openStore(url)
    await store.migrate()
    const engine = await Engine.open({ vocabularies: VOCABULARIES, store, pollMs: 50 })
    const handlers = new Handlers()
    const handler = makeStepHandler({ tools, secrets: { env: ['LEDGER_URL'] } })
    for (const type of stepTypes(tools.kinds())) handlers.add(type, handler)
    return new Performance(engine, store, await Worker.start(engine.workers, { handlers }), drop)
  }

  async close(): Promise<void> {
    await this.#worker.stop({ graceMs: 2000 })
    await this.engine.close()
    await this.store.close()
    await this.#drop()
  }

  async start({ start }: Definition, workload?: Json): Promise<string> {
    const [started] = await this.engine.start([{ ...start, ...(workload === undefined ? {} : { input: workload }) }])
    return (started as { readonly id: string }).id
  }

  async read(text: string): Promise<Definition> {
    return readDefinition('playbook.yaml', text)
  }

  /** Its end, as `state: outcome`. */
  async ended(id: string): Promise<string> {
    await this.engine.ended({ id, kind: 'instance', signal: AbortSignal.timeout(60_000) })
    const { state, outcome } = (await this.store.read.instance(id)) as InstanceRow
    return `${state}: ${outcome}`
  }

  async results(id: string): Promise<Record<string, unknown>> {
    const results = await this.engine.results(id)
    return Object.fromEntries([...results].map(([node, text]) => [node, text === null ? null : JSON.parse(text)]))
  }

  async error(id: string) {
    return (await this.engine.view(id))?.error ?? null
  }
}
