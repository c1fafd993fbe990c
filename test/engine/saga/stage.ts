/** A saga by hand: the test dispatches steps, replies as the services, and moves the clock. */
import type { Completion } from '../../../src/model/commands.ts'
import type { InstanceRow, RunRow } from '../../../src/model/rows.ts'
import type { Json, Net, Node } from '../../../src/net/net.ts'
import type { Retry } from '../../../src/net/retry/retry.ts'
import type { Command, Delivery, Reply } from '../../../src/worker/port.ts'
import { Drive, net, node, ONCE, type Place, run } from '../drive.ts'

export const DEADLINE = 60_000
export const RESEND = 30_000

/** A process that died while it built the command is followed by another; a reply of a service is final. */
const RETRY: Retry = { ...ONCE, maxAttempts: 5, retryOn: ['transient'] }

export interface StepOptions {
  readonly undo?: boolean
  readonly unknown?: Net['unknown']
  readonly join?: Node['join']
}

export function step(key: string, to: readonly string[] = [], options: StepOptions = {}): Node {
  const { undo = true, unknown, join = 'each' } = options
  const policy = { retry: RETRY, timeout: { ms: DEADLINE, per: 'attempt' as const } }
  const work = (subject: string) => run('saga.template', { queue: 'saga', args: null, program: { subject } })
  return node(key, to, {
    work: work(`shop.v1.${key}.do`),
    join,
    ...policy,
    undo: undo ? { work: work(`shop.v1.${key}.undo`), ...policy } : null,
    ...(unknown === undefined ? {} : { unknown }),
  })
}

export function sagaNet(nodes: readonly Node[], rest: Partial<Net> = {}): Net {
  return net(nodes, { name: 'order', dialect: 'saga', onFailure: 'compensate', unknown: 'stop', ...rest })
}

let reports = 0

export class Stage {
  readonly d: Drive
  id = ''
  /** Run ids by step: `a`, `undo a`. */
  readonly ids = new Map<string, string>()

  private constructor(d: Drive) {
    this.d = d
  }

  static async open(place: Place): Promise<Stage> {
    return new Stage(await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 }))
  }

  /** A saga among other work of the same engine. */
  static on(d: Drive): Stage {
    return new Stage(d)
  }

  async start(of: Net): Promise<string> {
    this.id = await this.d.start({ net: of, input: { order: 7 } })
    return this.id
  }

  /** Builds and stores the commands of all ready steps; returns their names. */
  async dispatch(): Promise<string[]> {
    const ready = await this.d.claim()
    for (const delivery of ready) await this.defer(delivery)
    return ready.map((delivery) => this.#name(delivery)).sort()
  }

  defer(delivery: Delivery, given: Partial<Command> = {}): Promise<Reply> {
    this.ids.set(this.#name(delivery), delivery.runId)
    // As a worker does: it no longer holds what it has deferred.
    this.d.held.delete(delivery.runId)
    const subject = `shop.v1.${delivery.node}.${delivery.role === 'undo' ? 'undo' : 'do'}`
    const command = { subject, body: JSON.stringify({ step: this.#name(delivery) }), resendMs: RESEND, ...given }
    return this.d.session.settle({
      delivery,
      reportId: `saga ${++reports}`,
      startedAt: Date.now(),
      outcome: { kind: 'deferred', command },
      wantNext: false,
    })
  }

  #name({ node, role }: Delivery): string {
    return role === 'undo' ? `undo ${node}` : (node as string)
  }

  idOf(name: string): string {
    const id = this.ids.get(name)
    if (id === undefined) throw new Error(`${name} was not dispatched`)
    return id
  }

  answer(name: string, result: Json = { done: name }, more: Partial<Completion> = {}): Promise<void> {
    return this.d.engine.complete({ runId: this.idOf(name), outcome: { kind: 'succeeded', result }, ...more })
  }

  refuse(name: string, code = 'refused', message = `${name} says no`): Promise<void> {
    return this.d.engine.complete({ runId: this.idOf(name), outcome: { kind: 'failed', error: { code, message } } })
  }

  /** Dispatches and answers ready steps until there are none; returns their names, in order. */
  async play(): Promise<string[]> {
    const played: string[] = []
    for (;;) {
      const names = await this.dispatch()
      if (names.length === 0) return played
      for (const name of names) await this.answer(name)
      played.push(...names)
    }
  }

  async run(name: string): Promise<RunRow> {
    return (await this.d.store.read.run(this.idOf(name))) as RunRow
  }

  async row(): Promise<InstanceRow> {
    return (await this.d.store.read.instance(this.id)) as InstanceRow
  }

  state(): Promise<string> {
    return this.d.state(this.id)
  }

  /** Codes of the first error, and of the undo's. */
  async errors(): Promise<readonly [string | undefined, string | undefined]> {
    const view = await this.d.engine.view(this.id)
    return [view?.error?.code, view?.undoError?.code]
  }

  /** The commands that would be published now, by step. */
  async due(): Promise<string[]> {
    const rows = await this.d.engine.commands.take({ limit: 100, holdMs: 5_000 })
    return rows.map(({ node, role }) => (role === 'undo' ? `undo ${node}` : node)).sort()
  }

  /** Rows of the audit view: number and state. */
  async steps(): Promise<string[]> {
    return (await this.d.store.read.sagas.steps(this.id)).map((row) => `${row.stepIndex} ${row.name} ${row.state}`)
  }

  async close(): Promise<void> {
    await this.d.close()
  }
}
