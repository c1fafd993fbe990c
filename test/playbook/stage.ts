/**
 * Plays playbooks by hand, on a clock that the test moves: which steps could run now, the input of each, how it ends.
 * No tool runs; tests of tools use `perform` of performance.ts.
 */

import type { InstanceRow, StoredEvent } from '../../src/model/rows.ts'
import type { Failure } from '../../src/net/marking.ts'
import type { Json } from '../../src/net/net.ts'
import type { StepPayload } from '../../src/notations/playbook/runtime/program.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, type Place } from '../engine/drive.ts'

let reports = 0

export class Stage {
  readonly d: Drive
  /** Claimed and not reported, in the order of the claims. */
  readonly #held: Delivery[] = []

  private constructor(d: Drive) {
    this.d = d
  }

  static async open(place: Place): Promise<Stage> {
    // Leases last as long as the test needs.
    return new Stage(await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 }))
  }

  async close(): Promise<void> {
    await this.d.close()
  }

  async start(text: string, workload?: Json): Promise<string> {
    const { start } = await readDefinition('example.yaml', playbook(text))
    return this.d.start({ ...start, ...(workload === undefined ? {} : { input: workload }) })
  }

  /** Which steps workers hold or could begin now, once for each token. */
  async running(): Promise<string[]> {
    this.#held.push(...(await this.d.claim()))
    return this.#held.map(({ node }) => node as string).sort()
  }

  async take(step: string): Promise<Delivery> {
    const running = await this.running()
    const delivery = this.#held.find(({ node }) => node === step)
    if (delivery === undefined) throw new Error(`'${step}' does not run, only: ${running.join(', ') || 'nothing'}`)
    return delivery
  }

  /** The input of a step-run. */
  async given(step: string): Promise<StepPayload> {
    return JSON.parse((await this.take(step)).payload) as StepPayload
  }

  async succeed(step: string, result: Json = null, set: { readonly [name: string]: Json } = {}): Promise<void> {
    await this.#report(step, { kind: 'succeeded', result: JSON.stringify(result) }, set)
  }

  /** For good: a decision of a pipeline is not retried. */
  async fail(step: string, error: Partial<Failure> = {}): Promise<void> {
    const broke = { code: 'unknown', message: `${step} broke`, retryable: false, ...error }
    await this.#report(step, { kind: 'failed', error: broke }, {})
  }

  async #report(
    step: string,
    outcome: Parameters<Drive['session']['settle']>[0]['outcome'],
    set: { readonly [name: string]: Json },
  ): Promise<void> {
    const delivery = await this.take(step)
    this.#held.splice(this.#held.indexOf(delivery), 1)
    await this.d.session.settle({
      delivery,
      reportId: `s${++reports}`,
      startedAt: Date.now(),
      outcome,
      wantNext: false,
      ...(Object.keys(set).length === 0 ? {} : { set: JSON.stringify(set) }),
    })
  }

  /** Lets every step that can run end well, until none can; returns the order. */
  async through(answer: (step: string) => Json = () => null): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const [step] = await this.running()
      if (step === undefined) return done
      await this.succeed(step, answer(step))
      done.push(step)
    }
  }

  async patch(instanceId: string, set: { readonly [name: string]: Json }): Promise<void> {
    await this.d.engine.patchContext({ instanceId, set, actor: 'test' })
  }

  async row(id: string): Promise<InstanceRow> {
    return (await this.d.store.read.instance(id)) as InstanceRow
  }

  /** State and, once it has ended, outcome. */
  async end(id: string): Promise<string> {
    const { state, outcome } = await this.row(id)
    return outcome === null ? state : `${state}: ${outcome}`
  }

  async error(id: string): Promise<Failure | null> {
    return (await this.d.engine.view(id))?.error ?? null
  }

  /** Types of the events of the instance itself, in order. */
  async events(id: string): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = []
    for await (const event of this.d.engine.watch(id, AbortSignal.timeout(5000))) events.push(event)
    return events
  }
}

/** A playbook from its sections; the required ones are added. */
export function playbook(sections: string): string {
  return `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: example }\n${sections}`
}

/** A step for a worker; `rest` adds to it, in YAML's flow style. */
export function step(name: string, rest = ''): string {
  return `  - { step: ${name}, tool: { kind: shell, cmd: 'true' }${rest === '' ? '' : `, ${rest}`} }`
}

export function workflow(...steps: readonly string[]): string {
  return `workflow:\n${steps.join('\n')}\n`
}
