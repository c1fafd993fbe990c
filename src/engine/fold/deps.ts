/** What a fold uses besides what was loaded. */

import type { NetRow } from '../../model/rows.ts'
import type { CompiledNet } from '../../net/compile.ts'
import type { Evaluators } from './evaluators.ts'

/** Compiled nets in memory. */
interface Nets {
  get(hash: string): CompiledNet | undefined
  load(row: NetRow): CompiledNet
  /** Which net an instance runs. */
  remember(instanceId: string, hash: string): void
}

export interface ChangeDeps {
  readonly nets: Nets
  readonly evaluators: Evaluators
  readonly newId: () => string
  readonly maxDepth: number
}
