/** A NATS, the domain services as processes, a store, and engines that start and stop. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { expect } from 'vitest'
import { COMPLETED_CONSUMER, namesUnder, START_CONSUMER } from '../../src/notations/saga/nats/names.ts'
import { type Running, root, type shell } from '../cli/petrel.ts'
import { OwnNats } from '../nats/server.ts'
import { audit } from './audit.ts'
import { type StoreKind, TestDatabase } from './database.ts'
import { built } from './process.ts'
import { type Asked, wrongSagas } from './saga-verdict.ts'

type Kind = Asked['kind']

const trap = new URL('trap.mjs', import.meta.url).href
const sagas = join(root, 'examples/sagas')
/** Leases, commands and messages of a dead engine expire soon. */
const ENGINE = { sessionTtlMs: 1_000, heartbeatMs: 150, pollMs: 100 }
/** Commands that were published and not confirmed are published again, either before or after their reply arrives. */
const HOLDS_MS = [100, 2_000] as const
const ACK_WAIT_MS = 1_000
/** An account needs an email address: the second step of these fails. */
const REQUESTS = { good: { party: 'Acme', email: 'ada@acme.test' }, bad: { party: 'Acme', email: 'nobody' } }

export class SagaStage {
  readonly #sh: ReturnType<typeof shell>
  readonly #nats: OwnNats
  readonly #database: TestDatabase
  readonly #dist = built()
  readonly #folder = mkdtempSync(join(tmpdir(), 'petrel-saga-crash-'))
  readonly #tally = join(this.#folder, 'tally')
  readonly #names = namesUnder(null)
  readonly #services: ChildProcess[] = []
  readonly #engines = new Set<Running>()
  readonly #asked: Asked[] = []
  #nc!: NatsConnection
  #kills = 0
  #started = 0
  #began = performance.now()

  private constructor(sh: ReturnType<typeof shell>, nats: OwnNats, database: TestDatabase) {
    this.#sh = sh
    this.#nats = nats
    this.#database = database
  }

  static async open(kind: StoreKind, sh: ReturnType<typeof shell>): Promise<SagaStage> {
    const stage = new SagaStage(sh, await OwnNats.start(), await TestDatabase.create(kind))
    stage.#nc = await connect({ servers: stage.#nats.url })
    await stage.#makeStream()
    await Promise.all(['refdata', 'iam'].map((name) => stage.#serve(name)))
    stage.#arm({})
    const file = join(sagas, 'provision_parties.saga.yaml')
    const deployed = await sh.petrel('deploy', file, '--store', stage.#database.url)
    expect(deployed).toMatchObject({ code: 0 })
    return stage
  }

  async close(): Promise<void> {
    for (const { child } of this.#engines) child.kill('SIGKILL')
    await Promise.all([...this.#engines].map(({ ended }) => ended))
    for (const service of this.#services) service.kill('SIGKILL')
    await this.#nc.close()
    await this.#nats.drop()
    await this.#database.drop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Sent as a message, which waits for an engine. */
  async begin(kind: Kind): Promise<void> {
    const id = randomUUID()
    this.#asked.push({ id, kind })
    const body = { type: 'provision_parties', instance_id: id, request_json: JSON.stringify(REQUESTS[kind]) }
    await jetstream(this.#nc).publish(this.#names.start, JSON.stringify(body))
  }

  /** Resolves when it is ready. */
  async engine(): Promise<Running> {
    const running = this.#start(['server', '--port', '0'], {})
    await running.until(/"event":"ready"/)
    return running
  }

  /** An engine that kills itself: without HTTP, which nothing here needs, it starts faster. */
  async killed(armed: { readonly what: string; readonly point: string; readonly at: number }): Promise<void> {
    const running = this.#start(['worker'], armed)
    const { err } = await within(60_000, running.ended, () => `it lives: ${JSON.stringify(armed)}\n${running.err}`)
    expect(running.child.signalCode, err).toBe('SIGKILL')
    this.#kills++
  }

  async leave({ child, ended }: Running): Promise<void> {
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  }

  /** Waits until this many have ended. */
  async reached(count: number): Promise<void> {
    const giveUpAt = performance.now() + 60_000
    for (;;) {
      const rows = await this.#database.rows<{ id: string; state: string; ended: number }>(
        'SELECT id, state, CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END AS ended FROM workflow.workflow_instance',
      )
      const open = rows.filter(({ ended }) => ended === 0)
      if (rows.length - open.length >= count) return
      if (performance.now() > giveUpAt) {
        throw new Error(`${rows.length - open.length} of ${count} ended; ${JSON.stringify(open.slice(0, 3))}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** All of them have. */
  async ended(): Promise<void> {
    await this.reached(this.#asked.length)
  }

  /** The effects recorded by each service. */
  shares(engines: readonly Running[]): { readonly published: number; readonly recorded: number }[] {
    const lines = readFileSync(this.#tally, 'utf8').split('\n')
    const count = (line: string): number => lines.filter((one) => one === line).length
    return engines.map(({ child: { pid } }) => ({
      published: count(`${pid} published`),
      recorded: count(`${pid} recorded`),
    }))
  }

  /** A surviving engine finishes everything and stops cleanly; then all checks must hold. */
  async verify(what: string): Promise<void> {
    const last = await this.engine()
    await this.ended()
    await this.#settled()
    await this.leave(last)
    expect(await wrongSagas(this.#database, this.#asked, this.#folder)).toEqual([])
    const { violations, counts } = await audit(this.#database, { effects: false })
    const seconds = ((performance.now() - this.#began) / 1000).toFixed(1)
    const [commands] = await this.#database.rows<object>(
      'SELECT count(*) AS commands, sum(publishes) AS publications FROM workflow.workflow_command',
    )
    const { instances, runs, undos, lost, returned } = counts
    const summary = JSON.stringify({ instances, runs, undos, lost, returned, ...commands })
    console.log(`${this.#database.kind}, ${what}: ${this.#kills} kills in ${seconds} s, all so far`, summary)
    expect(violations).toEqual([])
    this.#kills = 0
    this.#began = performance.now()
  }

  /** Every message was acknowledged, and every command is recorded as published. */
  async #settled(): Promise<void> {
    const jsm = await jetstreamManager(this.#nc)
    const unpublished = 'SELECT run_id FROM workflow.workflow_command WHERE published_at IS NULL'
    const giveUpAt = performance.now() + 20_000
    for (;;) {
      const { messages } = (await jsm.streams.info(this.#names.stream)).state
      const commands = await this.#database.rows(unpublished)
      if (messages === 0 && commands.length === 0) return
      const left = `${messages} messages were not acknowledged, ${commands.length} commands not published`
      if (performance.now() > giveUpAt) throw new Error(left)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  #start(command: readonly string[], armed: object): Running {
    this.#arm(armed)
    const running = this.#sh.start(...command, '--json', '--store', this.#database.url, '--nats', this.#nats.url)
    this.#engines.add(running)
    void running.ended.then(() => this.#engines.delete(running))
    return running
  }

  #arm(armed: object): void {
    const holdMs = HOLDS_MS[this.#started++ % HOLDS_MS.length]
    const settings = { dist: this.#dist, engine: ENGINE, holdMs, tally: this.#tally, ...armed }
    this.#sh.env = { NODE_OPTIONS: `--import ${trap}`, PETREL_TRAP: JSON.stringify(settings) }
  }

  /** As an engine creates it, except for the redelivery time. */
  async #makeStream(): Promise<void> {
    const { stream, start, completed } = this.#names
    const jsm = await jetstreamManager(this.#nc)
    await jsm.streams.add({ name: stream, subjects: [start, completed], retention: RetentionPolicy.Workqueue })
    for (const [durable_name, filter_subject] of [
      [START_CONSUMER, start],
      [COMPLETED_CONSUMER, completed],
    ] as const) {
      const ack_wait = nanos(ACK_WAIT_MS)
      await jsm.consumers.add(stream, { durable_name, filter_subject, ack_wait, ack_policy: AckPolicy.Explicit })
    }
  }

  async #serve(name: string): Promise<void> {
    const env = { ...process.env, NATS_URL: this.#nats.url, DATA: this.#folder }
    const service = spawn(process.execPath, [join(sagas, 'services', `${name}.mjs`)], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#services.push(service)
    await new Promise<void>((resolve, reject) => {
      service.stdout?.on('data', (text) => String(text).includes('ready') && resolve())
      service.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
    })
  }
}

async function within<T>(ms: number, work: Promise<T>, complaint: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
