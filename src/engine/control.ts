/** What people and outside systems do to instances and runs: cancel, answer, patch, complete, retry, redrive. */
import type { Failure, Happening, Place } from '../net/marking.ts'
import { TERMINAL } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import type { GateRow, InstanceRow, RunRow } from '../store/rows.ts'
import type { Need, Store } from '../store/store.ts'
import type { Started } from './api.ts'
import { bear } from './births.ts'
import { type Change, placeOf } from './change.ts'
import { unstorable } from './edge.ts'
import { PetrelError } from './errors.ts'
import { answerGate } from './gates.ts'
import type { Offer } from './handoff.ts'
import { NeedMore } from './need.ts'
import { type Chance, cancelled, completed } from './outcomes.ts'
import { redriven } from './runs.ts'
import type { Transactor } from './transactor.ts'

export interface ControlDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly offers: () => readonly Offer[]
  readonly newId: () => string
  readonly chance: Chance
  readonly maxPayloadBytes: number
}

type Actor = { readonly actor: string | null }

export class Control {
  readonly #deps: ControlDeps

  constructor(deps: ControlDeps) {
    this.#deps = deps
  }

  async cancelInstance(p: { readonly id: string } & Actor): Promise<InstanceRow> {
    return this.#onInstance(p.id, {}, (change) => {
      const { row } = change.member(p.id)
      if (TERMINAL.has(row.state)) {
        throw new PetrelError('conflict', `instance ${p.id} is already ${row.state}`, { state: row.state })
      }
      if (row.phase === 'undo' || row.state === 'compensating') {
        throw new PetrelError(
          'conflict',
          `instance ${p.id} is undoing its work; a half undone workflow is never abandoned`,
          { state: row.state },
        )
      }
      happenBy(change, p.id, { kind: 'cancel' }, 'instance.cancel_requested', p.actor)
    })
  }

  async cancelRun(p: { readonly id: string } & Actor): Promise<RunRow> {
    const run = await this.#run(p.id)
    const { value } = await this.#act(run.rootId, { runs: [p.id], ...instanceNeed(run) }, (change) =>
      cancelled(change, p.id, p.actor),
    )
    return value
  }

  async complete(p: {
    readonly runId: string
    readonly outcome:
      | { readonly kind: 'succeeded'; readonly result: Json }
      | { readonly kind: 'failed'; readonly error: Failure }
  }): Promise<void> {
    const run = await this.#run(p.runId)
    const outcome =
      p.outcome.kind === 'failed'
        ? p.outcome
        : { kind: 'succeeded' as const, result: this.#text(p.outcome.result, 'result') }
    await this.#act(run.rootId, { runs: [p.runId], ...instanceNeed(run) }, (change) =>
      completed(change, p.runId, outcome, this.#deps.chance),
    )
  }

  async answerGate(
    p: {
      readonly gateId: string
      readonly approved: boolean
      readonly answer?: Json
      readonly reason?: string
    } & Actor,
  ): Promise<InstanceRow> {
    const [found] = await this.#gates(p.gateId)
    const answer = p.answer === undefined ? null : this.#text(p.answer, 'answer')
    return this.#onInstance(found.instanceId, { gates: [p.gateId] }, (change) => {
      const gate = change.loaded.gates.get(p.gateId) as GateRow
      answerGate(change, gate, { ...p, answer, reason: p.reason ?? null })
    })
  }

  async patchContext(
    p: { readonly instanceId: string; readonly set: { readonly [name: string]: Json } } & Actor,
  ): Promise<InstanceRow> {
    this.#text(p.set as Json, 'set')
    return this.#onInstance(p.instanceId, {}, (change) => {
      const { row } = change.member(p.instanceId)
      if (TERMINAL.has(row.state)) {
        throw new PetrelError(
          'conflict',
          `instance ${p.instanceId} is already ${row.state}; its context can no longer change`,
        )
      }
      happenBy(change, p.instanceId, { kind: 'patched', set: p.set }, 'instance.patched', p.actor)
    })
  }

  /** A new instance of the same net that takes over what the old one had finished. */
  async retryInstance(p: { readonly id: string } & Actor): Promise<Started> {
    const old = await this.#instance(p.id)
    if (!TERMINAL.has(old.state))
      throw new PetrelError('conflict', `instance ${p.id} is still ${old.state}; cancel it first`, { state: old.state })
    if (old.state === 'completed' && old.outcome === 'success') {
      throw new PetrelError('conflict', `instance ${p.id} completed; there is nothing to retry`, { state: old.state })
    }
    if (old.parentNode !== null) {
      throw new PetrelError('conflict', `instance ${p.id} is nested; retry its root ${old.rootId}`, {
        root: old.rootId,
      })
    }
    const id = this.#deps.newId()
    const need: Need = {
      instances: [p.id],
      slotsWith: ['a:', 'n:'].map((prefix) => ({ instanceId: p.id, prefix })),
      slots: [{ instanceId: p.id, keys: ['in', 'm'] }],
    }
    await this.#act(null, need, (change) => {
      const member = change.member(p.id)
      const facts = change.facts(member)
      const literals = Object.assign({}, ...(facts.slotsWith('a:') ?? []).map((s) => s.value)) as never
      const items: Record<string, readonly Json[]> = {}
      for (const slot of facts.slotsWith('n:') ?? []) {
        const node = slot.key.slice(2)
        const count = slot.value as number
        const values = facts.items(node, 0, 0, count)
        if (values === undefined) throw new NeedMore({ items: [{ instanceId: p.id, node, fire: 0, from: 0, count }] })
        items[node] = values
      }
      const born = bear(change, {
        id,
        netHash: old.netHash,
        parent: null,
        tenant: old.tenant,
        startKey: null,
        retryOf: p.id,
        input: facts.slot('in') ?? null,
        meta: facts.slot('m') ?? null,
        literals,
        items,
      })
      change.event(born, 'instance.retries', null, { retry_of: p.id, ...(p.actor === null ? {} : { actor: p.actor }) })
      change.pump()
    })
    return { id, created: true }
  }

  /** Goes on in place where an instance stopped without undo. */
  async resumeInstance(p: { readonly id: string } & Actor): Promise<InstanceRow> {
    const runs = await this.#stoppedRuns(p.id)
    return this.#onInstance(p.id, { runs: runs.map((r) => r.id) }, (change) => {
      const { row, net } = change.member(p.id)
      const stopped = row.state === 'failed' && (row.reason === 'stop' || row.reason === 'failure')
      if (!stopped || net.net.finals.length > 0) {
        throw new PetrelError(
          'conflict',
          `instance ${p.id} is ${row.state} and did not stop in a way that can be resumed; retry it instead`,
          { state: row.state },
        )
      }
      const places: Place[] = []
      for (const { id } of runs) {
        const run = change.run(id) as RunRow
        change.redrives.set(`${run.node}/${run.fire}/${run.item}`, run)
        places.push(placeOf(run))
      }
      happenBy(change, p.id, { kind: 'resume', places }, 'instance.resume_requested', p.actor)
    })
  }

  async #stoppedRuns(instanceId: string): Promise<readonly RunRow[]> {
    const stopped: RunRow[] = []
    for (let after: string | null = null; ; ) {
      const page: readonly RunRow[] = await this.#deps.store.read.instanceRuns({ instanceId, limit: 1000, after })
      stopped.push(...page.filter((r) => r.role === 'work' && (r.status === 'failed' || r.status === 'cancelled')))
      if (page.length < 1000) return stopped
      after = (page.at(-1) as RunRow).id
    }
  }

  /** The one exit of a terminal run. */
  async redrive(p: { readonly runId: string } & Actor): Promise<RunRow> {
    const run = await this.#run(p.runId)
    const { value } = await this.#act(run.rootId, { runs: [p.runId], ...instanceNeed(run) }, (change) => {
      const row = change.run(p.runId) as RunRow
      if (row.status !== 'failed' && row.status !== 'cancelled') {
        throw new PetrelError(
          'conflict',
          `run ${p.runId} is ${row.status}; only failed or cancelled runs are redriven`,
          { state: row.status },
        )
      }
      if (row.instanceId !== null && !TERMINAL.has(change.member(row.instanceId).row.state)) {
        throw new PetrelError(
          'conflict',
          `run ${p.runId} belongs to a workflow that is still going on; it counts there as ${row.status}`,
        )
      }
      const again = redriven(row, change.now)
      change.replace(again)
      change.runEvent(again, 'redriven', null, p.actor)
      return again
    })
    return value
  }

  async pauseQueue(p: { readonly queue: string; readonly paused: boolean } & Actor): Promise<void> {
    await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: {},
      fold: (change) => {
        change.queues.set(p.queue, { name: p.queue, paused: p.paused })
        const data = JSON.stringify({ queue: p.queue })
        const type = p.paused ? 'queue.paused' : 'queue.resumed'
        change.events.push({
          runId: null,
          instanceId: null,
          seq: null,
          type,
          node: null,
          actor: p.actor,
          tenant: null,
          data,
          at: change.now,
        })
      },
    })
  }

  async setLimit(p: {
    readonly key: string
    readonly maxConcurrent: number | null
    readonly ratePer: number | null
    readonly periodMs: number | null
  }): Promise<void> {
    if (!p.key.startsWith('queue:') && !p.key.startsWith('key:')) {
      throw new PetrelError('invalid_request', `limit '${p.key}': the key is 'queue:<name>' or 'key:<limit key>'`)
    }
    if (p.ratePer !== null && !(p.periodMs !== null && p.periodMs > 0)) {
      throw new PetrelError('invalid_request', `limit '${p.key}': a rate needs periodMs, more than 0`)
    }
    await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: { limits: [p.key] },
      fold: (change) => {
        const before = change.loaded.limits.get(p.key)
        change.limits.set(p.key, { windowStart: 0, windowUsed: 0, inUse: 0, ...before, ...p })
      },
    })
    // Runs leased before the limit existed count against it too.
    await this.#deps.store.sweep.recountLimits({ keys: [p.key] })
  }

  #text(value: Json, what: string): string {
    const text = JSON.stringify(value) as string | undefined
    if (text === undefined) throw new PetrelError('unstorable', `${what}: ${typeof value} is not JSON`)
    const error = unstorable(text, this.#deps.maxPayloadBytes)
    if (error !== null) throw new PetrelError(error.code as 'unstorable', `${what}: ${error.message}`)
    return text
  }

  async #onInstance(id: string, need: Need, fold: (change: Change) => void): Promise<InstanceRow> {
    const found = await this.#instance(id)
    const { value } = await this.#act(found.rootId, { instances: [id], ...need }, (change) => {
      fold(change)
      return change.member(id).row
    })
    return value
  }

  #act<T>(rootId: string | null, need: Need, fold: (change: Change) => T): Promise<{ readonly value: T }> {
    const { transactor, offers } = this.#deps
    return transactor.run({ roots: rootId === null ? [] : [rootId], wait: true, need, offers, fold })
  }

  async #instance(id: string): Promise<InstanceRow> {
    const row = await this.#deps.store.read.instance(id)
    if (row === null) throw new PetrelError('not_found', `there is no instance ${id}`, { id })
    return row
  }

  async #run(id: string): Promise<RunRow> {
    const row = await this.#deps.store.read.run(id)
    if (row === null) throw new PetrelError('not_found', `there is no run ${id}`, { id })
    return row
  }

  async #gates(id: string): Promise<readonly [GateRow]> {
    const gate = await this.#deps.store.read.gate(id)
    if (gate === null) throw new PetrelError('not_found', `there is no gate ${id}`, { id })
    return [gate]
  }
}

function happenBy(change: Change, id: string, happening: Happening, event: string, actor: string | null): void {
  change.event(change.member(id), event, null, actor === null ? null : { actor })
  change.happen(id, happening)
}

function instanceNeed(run: RunRow): Need {
  return run.instanceId === null ? {} : { instances: [run.instanceId] }
}
