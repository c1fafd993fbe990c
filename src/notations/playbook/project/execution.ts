/** An execution in the terms of its notation: how it ended, or its current state. A pure function of rows. */

import type { InstanceRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Admission, Net } from '../../../net/net.ts'
import type { NotedFailure } from '../../../net/slots.ts'
import type { Noted } from '../../../net/summary.ts'
import type { StepView } from '../../../views/steps.ts'
import type { PlaybookStep } from './steps.ts'
import { type ExecutionStatus, executionStatus, isStep } from './words.ts'

export interface Execution {
  readonly execution_id: string
  readonly playbook: string
  readonly status: ExecutionStatus
  readonly entry_step: string | null
  readonly final_step: { readonly step: string; readonly state: StepView['state'] } | null
  /** Currently executing. */
  readonly current_steps: readonly string[]
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly duration_ms: number | null
  readonly counts: Counts
  /** Tokens that no admission rule let pass: held, or discarded when it completed. */
  readonly blocked_tokens: readonly BlockedToken[]
  /** At most a hundred. */
  readonly failures: readonly NotedFailure[]
  readonly error: (Failure & { readonly node?: string | null }) | null
}

export interface Counts {
  /** Steps that began at least once. */
  readonly steps: number
  /** Steps, and iterations of loops, that succeeded, and that failed. */
  readonly succeeded: number
  readonly failed: number
  /** Failures that no arc with a condition took. */
  readonly unhandled: number
  /** Branches that ended. */
  readonly branches: number | null
  readonly open: number
  readonly held: number
}

export interface BlockedToken {
  readonly step: string
  readonly tokens: number
  readonly state: 'held' | 'discarded'
  /** In order: the first that holds decides; if none holds, the token is not admitted. */
  readonly rules: Admission['rules']
}

export interface ExecutionFacts {
  readonly instance: InstanceRow
  readonly net: Net
  readonly steps: readonly PlaybookStep[]
  readonly error: (Failure & { readonly node?: string | null }) | null
  readonly noted: Noted | null
  /** Nodes at which tokens were left when it completed, once for each. */
  readonly left: readonly string[]
  readonly now: number
}

export function executionOf(facts: ExecutionFacts): Execution {
  const { instance, net, steps, noted, error } = facts
  const { startedAt, endedAt } = instance
  const final = net.finals.find(({ node }) => isStep(node))?.node ?? null
  const finalState = steps.find(({ node }) => node.key === final)?.state ?? 'pending'
  return {
    execution_id: instance.id,
    playbook: instance.name,
    status: executionStatus(instance),
    entry_step: net.entry[0] ?? null,
    final_step: final === null ? null : { step: final, state: finalState },
    current_steps: steps.filter(({ state }) => state === 'running').map(({ node }) => node.key),
    started_at: time(startedAt),
    ended_at: time(endedAt),
    duration_ms: startedAt === null ? null : Math.max(0, (endedAt ?? facts.now) - startedAt),
    counts: {
      steps: steps.filter(({ state }) => state !== 'pending').length,
      succeeded: instance.succeeded + routed(facts),
      failed: instance.failed,
      unhandled: instance.unhandled,
      branches: noted?.branches ?? null,
      open: instance.open,
      held: instance.held,
    },
    blocked_tokens: blockedTokens(facts),
    failures: noted?.failures ?? [],
    error,
  }
}

/** Firings of steps that only route: they leave no row, and none can fail. */
function routed({ net, noted }: ExecutionFacts): number {
  const fired = net.nodes.map(({ key, work }) => (work.kind === 'pass' ? (noted?.fired.get(key) ?? 0) : 0))
  return fired.reduce((sum, times) => sum + times, 0)
}

function blockedTokens({ net, steps, left }: ExecutionFacts): readonly BlockedToken[] {
  const rulesAt = (step: string): Admission['rules'] => net.nodes.find(({ key }) => key === step)?.admit?.rules ?? []
  const held = steps.flatMap(({ node: { key: step }, held: tokens }): BlockedToken[] =>
    tokens === 0 ? [] : [{ step, tokens, state: 'held', rules: rulesAt(step) }],
  )
  const discarded = new Map<string, number>()
  for (const step of left) discarded.set(step, (discarded.get(step) ?? 0) + 1)
  return [
    ...held,
    ...[...discarded].map(([step, tokens]) => ({ step, tokens, state: 'discarded' as const, rules: rulesAt(step) })),
  ]
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
