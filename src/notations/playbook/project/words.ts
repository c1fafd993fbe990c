/** The states of an instance in the terms of the notation. Light: every command loads it. */

import type { InstanceRow } from '../../../model/rows.ts'
import type { InstanceState } from '../../../net/marking.ts'
import type { Net, Node } from '../../../net/net.ts'

export const EXECUTION_STATUSES = [
  'pending',
  'running',
  'waiting',
  'success',
  'failed',
  'partial',
  'cancelled',
] as const

export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number]

const WORDS: { readonly [S in InstanceState]: ExecutionStatus } = {
  idle: 'pending',
  queued: 'pending',
  running: 'running',
  waiting: 'waiting',
  cancelling: 'running',
  compensating: 'running',
  completed: 'success',
  failed: 'failed',
  cancelled: 'cancelled',
  compensated: 'failed',
}

export function executionStatus({ state, outcome }: Pick<InstanceRow, 'state' | 'outcome'>): ExecutionStatus {
  return state === 'completed' && outcome === 'partial' ? 'partial' : WORDS[state]
}

/** Nodes that the compiler adds have keys beginning with #; the author does not know them. */
export function isStep(node: string): boolean {
  return !node.startsWith('#')
}

/** The steps, in the order of the file. */
export function playbookNodes(net: Net): readonly Node[] {
  return net.nodes.filter(({ key }) => isStep(key))
}
