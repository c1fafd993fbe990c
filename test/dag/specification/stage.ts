/** Plays DAG workflows by hand, on a clock that the test moves, and shows them in the specification's own words. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { InstanceRow } from '../../../src/model/rows.ts'
import type { StartParams } from '../../../src/model/start.ts'
import { indexNet } from '../../../src/net/compile.ts'
import type { Failure } from '../../../src/net/marking.ts'
import type { Json, Net } from '../../../src/net/net.ts'
import { loadShown } from '../../../src/notations/dag/project/load.ts'
import type { DagStatus } from '../../../src/notations/dag/project/status.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import { loadSteps, type StepView } from '../../../src/views/steps.ts'
import type { Delivery } from '../../../src/worker/port.ts'
import { Drive, type Place } from '../../engine/drive.ts'

export interface Spec {
  readonly steps: readonly { readonly name: string; readonly [field: string]: unknown }[]
  readonly [field: string]: unknown
}

export class Stage {
  readonly d: Drive
  /** Claimed and unreported work, by step, or `undo STEP`. */
  readonly #held = new Map<string, Delivery>()

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

  async start(spec: Spec, params: Partial<StartParams> = {}): Promise<string> {
    const { start } = await readDefinition('example.yaml', fileOf(spec))
    return this.d.start({ ...start, ...params })
  }

  /** Which steps workers could begin now; claims them. */
  async running(): Promise<string[]> {
    for (const delivery of await this.d.claim()) this.#held.set(nameOf(delivery), delivery)
    return [...this.#held.keys()].sort()
  }

  /** The work of a step, claimed. */
  async take(step: string): Promise<Delivery> {
    if (!this.#held.has(step)) await this.running()
    const delivery = this.#held.get(step)
    if (delivery === undefined) throw new Error(`'${step}' is not to be had, only ${[...this.#held.keys()].join(', ')}`)
    return delivery
  }

  async succeed(step: string, result: Json = null): Promise<void> {
    const delivery = await this.take(step)
    this.#held.delete(step)
    await this.d.succeed(delivery, result)
  }

  /** An error without a category is the agent's: final unless the policy names it. */
  async fail(step: string, error: Partial<Failure> = {}): Promise<void> {
    const delivery = await this.take(step)
    this.#held.delete(step)
    await this.d.fail(delivery, { message: `${step} broke`, ...error })
  }

  /** A worker that has begun without reporting it yet. */
  async begin(step: string): Promise<void> {
    const { runId, epoch } = await this.take(step)
    await this.d.session.started([{ runId, epoch, at: await this.d.store.now() }])
  }

  /** Its worker hangs, and the step is taken from it. */
  forget(step: string): void {
    this.#held.delete(step)
  }

  async status(instanceId: string): Promise<DagStatus> {
    const row = await this.d.store.read.instance(instanceId)
    return (await loadShown(this.d.engine, row as InstanceRow))?.status as DagStatus
  }

  /**
   * Waits until it is in this state, and fails if it never is. A commit that frees a slot triggers the start of the
   * next workflow in the queue without delaying the reporter, and a sweep leaves that start to the one in progress.
   */
  async reaches(instanceId: string, state: DagStatus['state']): Promise<void> {
    for (const giveUpAt = performance.now() + 20_000; ; await sleep(10)) {
      const now = (await this.status(instanceId)).state
      if (now === state) return
      if (performance.now() > giveUpAt) throw new Error(`it is still ${now}, not ${state}`)
      await this.d.engine.sweep()
    }
  }

  /** The states it went through, in order. */
  async path(instanceId: string): Promise<string[]> {
    return (await this.status(instanceId)).transitions.map(({ state }) => state)
  }

  /** Types of the conditions that hold. */
  async conditions(instanceId: string): Promise<string[]> {
    return (await this.status(instanceId)).conditions.filter((c) => c.status === 'True').map((c) => c.type)
  }

  async steps(instanceId: string): Promise<Record<string, string>> {
    return Object.fromEntries((await this.#views(instanceId)).map(({ node, state }) => [node.key, state]))
  }

  async error(instanceId: string, step: string): Promise<Failure | null> {
    return (await this.#views(instanceId)).find(({ node }) => node.key === step)?.error ?? null
  }

  /** The result of each compensation that began. */
  async undos(instanceId: string): Promise<Record<string, string>> {
    const begun = (await this.#views(instanceId)).filter(({ undo }) => undo !== null)
    return Object.fromEntries(begun.map(({ node, undo }) => [node.key, undo?.status as string]))
  }

  async #views(instanceId: string): Promise<readonly StepView[]> {
    const row = (await this.d.store.read.instance(instanceId)) as InstanceRow
    const net = (await this.d.engine.net(row.netHash)) as Net
    return loadSteps(this.d.store.read, indexNet(net), row, net.nodes)
  }

  async gate(instanceId: string): Promise<string> {
    const view = await this.d.engine.view(instanceId)
    const open = view?.gates.find((gate) => gate.state === 'open')
    if (open === undefined) throw new Error('no gate is open')
    return open.id
  }

  async answer(instanceId: string, approved: boolean, answer?: Json): Promise<void> {
    const gateId = await this.gate(instanceId)
    await this.d.engine.answerGate({ gateId, approved, actor: 'ann', ...(answer === undefined ? {} : { answer }) })
  }
}

export function fileOf(spec: Spec): string {
  return JSON.stringify({ apiVersion: 'ioa.dev/v0.2', kind: 'Workflow', metadata: { name: 'example' }, spec })
}

/** Sequential steps. */
export function inLine(...names: readonly string[]): { name: string; dependsOn: string[] }[] {
  return names.map((name, i) => ({ name, dependsOn: i === 0 ? [] : [names[i - 1] as string] }))
}

/** The compensation of each of these steps. */
export function undoing(...steps: readonly string[]): { step: string; uses: string }[] {
  return steps.map((step) => ({ step, uses: `${step}.undo` }))
}

function nameOf({ node, role }: Delivery): string {
  return role === 'undo' ? `undo ${node}` : (node as string)
}
