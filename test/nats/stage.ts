/** Engines that share a database and a prefix on NATS, and a service by hand that receives every command. */

import { randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { afterEach, beforeEach } from 'vitest'
import type { EngineApi } from '../../src/engine/api.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { Petrel } from '../../src/index.ts'
import type { RefusedRow } from '../../src/model/commands.ts'
import type { SagaRow, SagaState } from '../../src/model/sagas.ts'
import { openSagaTransport, type SagaTransport, type SagaTransportOptions } from '../../src/nats.ts'
import { namesUnder } from '../../src/notations/saga/nats/names.ts'
import { Catalog } from '../../src/operations/definitions/catalog.ts'
import { engineOf } from '../engine-of.ts'
import type { Stage } from '../sdk/stores.ts'
import { natsUrl } from '../services.ts'

export interface Seen {
  readonly subject: string
  readonly stepId: string
  readonly instanceId: string
  readonly tenant: string | null
  readonly body: any
}

export interface OpenOptions extends Partial<Omit<SagaTransportOptions, 'engine'>> {
  /** false: it builds no commands. */
  readonly work?: boolean
  /** false: it has no NATS. */
  readonly transport?: boolean
}

export interface OpenEngine {
  readonly petrel: Petrel
  readonly engine: Engine
  readonly transport: SagaTransport | null
  /** Its transport and engine; the database stays. */
  close(): Promise<void>
}

export class Road {
  readonly #stage: Stage
  readonly #engines: OpenEngine[] = []
  nc!: NatsConnection
  prefix = ''
  /** Commands as they arrived, each time. */
  readonly seen: Seen[] = []
  /** Determines the reply; undefined: none. */
  answer: (command: Seen) => object | undefined = () => undefined

  constructor(stage: Stage) {
    this.#stage = stage
  }

  get names() {
    return namesUnder(this.prefix)
  }

  async begin(servers: string): Promise<void> {
    this.prefix = `t${randomUUID().slice(0, 8)}`
    this.seen.length = 0
    this.answer = () => undefined
    this.nc = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 50 })
    this.nc.subscribe(`${this.prefix}.*.v1.things.*`, {
      callback: (_, message) => {
        const header = (name: string) => message.headers?.get(name) || null
        const command = {
          subject: message.subject.slice(this.prefix.length + 1),
          stepId: header('X-Workflow-Step-Id') as string,
          instanceId: header('X-Workflow-Instance-Id') as string,
          tenant: header('X-Tenant-Id'),
          body: message.json(),
        }
        this.seen.push(command)
        const answer = this.answer(command)
        if (answer !== undefined) this.complete(command, answer)
      },
    })
    await this.nc.flush()
  }

  async end(): Promise<void> {
    await Promise.all(this.#engines.splice(0).map((engine) => engine.close()))
    const jsm = await jetstreamManager(this.nc, { checkAPI: false })
    await jsm.streams.delete(this.names.stream).catch(() => {})
    await this.nc.close()
  }

  async open({ work = true, transport = true, ...options }: OpenOptions = {}): Promise<OpenEngine> {
    const petrel = await this.#stage.open({ pollMs: 100, heartbeatMs: 500 })
    await petrel.saga()
    const worker = work ? await petrel.work({ queues: ['saga'] }) : null
    const opened = transport
      ? await openSagaTransport({
          petrel,
          ...(options.connection === undefined ? { url: natsUrl() as string } : {}),
          prefix: this.prefix,
          pollMs: 100,
          holdMs: 1_000,
          ...options,
        })
      : null
    const engine: OpenEngine = {
      petrel,
      engine: engineOf(petrel),
      transport: opened,
      close: async () => {
        await opened?.close()
        await worker?.stop({ graceMs: 1000 })
        await petrel.close()
      },
    }
    this.#engines.push(engine)
    return engine
  }

  async ready(options: OpenOptions = {}): Promise<OpenEngine> {
    const engine = await this.open(options)
    await engine.transport?.ready
    return engine
  }

  /** As a service publishes by hand: no acknowledgement is awaited. */
  complete({ stepId, instanceId }: Pick<Seen, 'stepId' | 'instanceId'>, reply: object = { success: true }): void {
    this.tell({ workflow_instance_id: instanceId, step_id: stepId, ...reply })
  }

  /** On the subject of completions. */
  tell(body: object | string | Uint8Array): void {
    const data = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
    this.nc.publish(this.names.completed, data)
  }

  /** The reply sent to X-Reply-To. */
  async start(body: object | string): Promise<any> {
    const inbox = `${this.prefix}.replies.${randomUUID()}`
    const replies = this.nc.subscribe(inbox, { max: 1, timeout: 10_000 })
    const given = headers()
    given.set('X-Reply-To', inbox)
    const data = typeof body === 'string' ? body : JSON.stringify(body)
    this.nc.publish(this.names.start, data, { headers: given })
    for await (const message of replies) return message.json()
  }

  async ask(what: 'status' | 'list' | 'retry' | 'cancel', body?: object | string, tenant?: string): Promise<any> {
    const subject = tenant === undefined ? this.names.control(what) : this.names.tenantControl(tenant, what)
    const data = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
    return (await this.nc.request(subject, data, { timeout: 15_000 })).json()
  }

  /** The stream is empty: every message has been decided. */
  async settled(): Promise<void> {
    const jsm = await jetstreamManager(this.nc)
    await until(async () => (await jsm.streams.info(this.names.stream)).state.messages === 0)
  }
}

/** Each test of the suite has a separate prefix. */
export function onRoad(stage: Stage, server: () => string = () => natsUrl() as string): Road {
  const road = new Road(stage)
  beforeEach(() => road.begin(server()))
  afterEach(() => road.end())
  return road
}

/** Two steps; the first can be undone. */
export const PAIR = `
apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: pair, version: 1 }
spec:
  deadline: 10m
  resend: 30s
  steps:
    - name: first
      command: { subject: alpha.v1.things.make, body: { what: '{{ request.what }}' } }
      compensation: { subject: alpha.v1.things.unmake, body: { made: '{{ result.made }}' } }
    - name: second
      command: { subject: beta.v1.things.make, body: { of: '{{ results.first.made }}' } }
`

export async function deploy(engine: EngineApi, text: string): Promise<void> {
  const catalog = new Catalog({ engine, logger: null })
  await catalog.deploy({ file: 'test.saga.yaml', text, tenant: null, actor: null })
}

export async function begin(petrel: Petrel, count = 1, request: object = { what: 'cup' }): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push((await petrel.startSaga('pair', request as never)).id)
  return ids
}

/** Succeeds at everything. */
export function obliging({ subject }: Seen): object {
  return subject === 'alpha.v1.things.make' ? { success: true, result_json: '{"made":1}' } : { success: true }
}

export async function until<T>(look: () => T | Promise<T>, ms = 15_000): Promise<NonNullable<T>> {
  const giveUpAt = performance.now() + ms
  for (;;) {
    const found = await look()
    if (found) return found as NonNullable<T>
    if (performance.now() > giveUpAt) throw new Error(`not within ${ms} ms: ${look}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function reaches(
  engine: EngineApi,
  ids: readonly string[],
  state: SagaState,
): Promise<readonly SagaRow[]> {
  let last: readonly (SagaRow | null)[] = []
  try {
    await until(async () => {
      last = await Promise.all(ids.map((id) => engine.queries.sagas.get(id)))
      return last.every((row) => row?.state === state)
    })
  } catch {
    throw new Error(`not ${state}: ${JSON.stringify(last.filter((row) => row?.state !== state).slice(0, 3))}`)
  }
  return last as SagaRow[]
}

export function refused(engine: EngineApi): Promise<readonly RefusedRow[]> {
  return engine.commands.refused.list({ limit: 100, before: null })
}
