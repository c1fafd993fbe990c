/** The status block of a workflow of steps, with the field names of its specification. A pure function of rows. */

import type { StoredEvent } from '../../../model/rows.ts'
import type { StepView } from '../../../views/steps.ts'
import { type Circumstances, type Condition, conditionsOf } from './conditions.ts'
import { type Cost, costOf } from './cost.ts'
import { type DagState, dagState, transitionsOf } from './transitions.ts'

export interface DagStatus {
  readonly state: DagState
  /** The active step; of several the one that began first. null: none is active. */
  readonly currentStep: string | null
  /** In the order in which they completed. */
  readonly completedSteps: readonly string[]
  readonly failedSteps: readonly string[]
  readonly skippedSteps: readonly string[]
  readonly startedAt: string | null
  readonly completedAt: string | null
  /** Executions of steps that were retried. */
  readonly retries: number
  /** From the start to the end, or until now, in the duration format of files. */
  readonly latency: string | null
  readonly costAccumulated: Cost
  readonly conditions: readonly Condition[]
  readonly transitions: readonly { readonly state: DagState; readonly at: string }[]
}

export interface StatusFacts extends Circumstances {
  readonly compensates: boolean
  readonly events: readonly StoredEvent[]
  readonly usages: readonly string[]
  readonly now: number
}

export function dagStatus(facts: StatusFacts): DagStatus {
  const { instance, steps, now } = facts
  const path = transitionsOf({ events: facts.events, state: instance.state, compensates: facts.compensates })
  const executing = path.find(({ state }) => state === 'executing')?.at ?? null
  // An instance that never began has no latency, though it passed through executing on its way to its end.
  const startedAt = instance.startedAt ?? (steps.some(({ state }) => state !== 'pending') ? executing : null)
  return {
    state: dagState(instance.state),
    currentStep: currentStep(steps, instance.endedAt !== null),
    completedSteps: named(steps, 'completed'),
    failedSteps: named(steps, 'failed'),
    skippedSteps: named(steps, 'skipped'),
    startedAt: time(startedAt),
    completedAt: time(instance.endedAt),
    retries: steps.reduce((sum, step) => sum + step.retries, 0),
    latency: startedAt === null ? null : `${Math.max(0, (instance.endedAt ?? now) - startedAt) / 1000}s`,
    costAccumulated: costOf(facts.usages),
    conditions: conditionsOf(facts),
    transitions: path.map(({ state, at }) => ({ state, at: new Date(at).toISOString() })),
  }
}

function currentStep(steps: readonly StepView[], ended: boolean): string | null {
  if (ended) return null
  const undoing = steps.find(({ undo }) => undo?.status === 'pending' || undo?.status === 'leased')
  if (undoing !== undefined) return undoing.node.key
  const begun = steps.filter(({ state }) => state === 'running')
  const first = begun.reduce<StepView | null>(
    (best, step) => (best === null || (step.startedAt ?? 0) < (best.startedAt ?? 0) ? step : best),
    null,
  )
  return (first ?? steps.find(({ run, state }) => state === 'pending' && run?.status === 'pending'))?.node.key ?? null
}

function named(steps: readonly StepView[], state: StepView['state']): readonly string[] {
  return steps
    .filter((step) => step.state === state)
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
    .map(({ node }) => node.key)
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
