/**
 * The summary that the finals of a net with `summary` receive. Failures and ended branches are noted as they occur, in
 * slots that stay small however many there are: counts, one slot for each failure, and how often nodes fired that leave
 * no row. The firings of all other nodes are counted from rows.
 */

import type { Ran } from './facts.ts'
import { type Draft, MissingFact } from './firing/draft.ts'
import type { Failure } from './marking.ts'
import type { Json } from './net.ts'
import { type NotedCounts, type NotedFailure, SLOT, type SlotPrefix } from './slots.ts'

/** Noted in full; further failures are only counted. */
const MOST_FAILURES = 100
const MOST_CHARACTERS = 500
/** A cascade of many nodes touches few slots, and a firing writes little. */
const NODES_PER_CHUNK = 128

const NOTHING: NotedCounts = { branches: 0, failures: 0 }

/**
 * A firing that leaves neither run nor child. Nodes that a compiler adds have keys beginning with #; the author does
 * not know them.
 */
export function noteFired(d: Draft, node: string): void {
  if (d.net.net.summary !== true || node.startsWith('#')) return
  const key = SLOT.notedFirings.key(Math.floor((d.net.position.get(node) ?? 0) / NODES_PER_CHUNK))
  const fired = new Map(Object.entries(d.slot(key) ?? {}))
  fired.set(node, (fired.get(node) ?? 0) + 1)
  d.put(key, Object.fromEntries(fired))
}

/** A token ends because no arc takes it. */
export function noteBranch(d: Draft): void {
  if (d.net.net.summary !== true) return
  const counts = countsIn(d)
  d.put(SLOT.noted.key, { ...counts, branches: counts.branches + 1 })
}

export function noteFailure(d: Draft, step: string | null, { code, message }: Failure, handled: boolean): void {
  if (d.net.net.summary !== true) return
  const counts = countsIn(d)
  if (counts.failures >= MOST_FAILURES) return
  d.put(SLOT.noted.key, { ...counts, failures: counts.failures + 1 })
  d.put(SLOT.notedFailure.key(counts.failures), { step, code, message: message.slice(0, MOST_CHARACTERS), handled })
}

/** The failure of this step is taken back. `branch`: its token had nowhere to go, and continues now. */
export function forgetFailure(d: Draft, step: string, branch: boolean): void {
  if (d.net.net.summary !== true) return
  const noted = d.slotsWith(SLOT.notedFailure.prefix).findLast(({ value }) => value.step === step)
  if (noted !== undefined) d.put(noted.key, null)
  const counts = countsIn(d)
  if (branch) d.put(SLOT.noted.key, { ...counts, branches: counts.branches - 1 })
}

function countsIn(d: Draft): NotedCounts {
  return d.slot(SLOT.noted.key) ?? NOTHING
}

/** null: the net has no summary. */
export function summaryOf(d: Draft, failed: boolean): Json | null {
  if (d.net.net.summary !== true) return null
  const ran = d.facts.ran()
  if (ran === undefined) throw new MissingFact({ fact: 'ran' })
  const { instance } = d.facts
  const { fired, branches, failures } = notedIn(d.slotsWith(SLOT.noted.prefix))
  const results: Record<string, Json> = {}
  for (const { node, done } of ran) if (done) results[node] = reference(instance, node)
  const sum = (count: (of: Ran) => number): number => ran.reduce((all, one) => all + count(one), 0)
  return {
    execution_id: instance,
    status_so_far: failed ? 'failed' : 'success',
    counts: {
      steps: [...fired.values()].reduce((all, times) => all + times, 0) + sum(({ fires }) => fires),
      runs: sum(({ runs }) => runs),
      branches,
      failed: d.m.failed,
    },
    results,
    failures: failures.map((failure) => ({ ...failure })),
  }
}

export interface Noted {
  readonly branches: number
  /** Firings by node. */
  readonly fired: ReadonlyMap<string, number>
  readonly failures: readonly NotedFailure[]
}

/** `slots`: those under the prefix of `noted`, in the order of their keys. */
export function notedIn(slots: readonly { readonly key: string; readonly value: unknown }[]): Noted {
  const under = <V>(prefix: SlotPrefix<V>): readonly V[] =>
    slots.filter(({ key }) => key.startsWith(prefix)).map(({ value }) => value as V)
  const counts = slots.find(({ key }) => key === SLOT.noted.key)?.value as NotedCounts | undefined
  const fired = new Map(under(SLOT.notedFirings.prefix).flatMap((chunk) => Object.entries(chunk)))
  return { branches: (counts ?? NOTHING).branches, fired, failures: under(SLOT.notedFailure.prefix) }
}

function reference(instance: string, node: string): Json {
  return { kind: 'result_ref', ref: `petrel://instances/${instance}/results/${encodeURIComponent(node)}` }
}
