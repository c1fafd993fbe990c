/** What another part of the engine decides and writes in the transaction that creates a run or an instance. */
import type { Need } from '../../model/transaction.ts'
import type { WorkingSet } from '../fold/working-set.ts'

export interface SameTransaction {
  readonly need: Need
  /** false: nothing is created, since what it depends on has changed. */
  admits(change: WorkingSet): boolean
  /** `made`: what was created, or has existed under the same key. */
  write(change: WorkingSet, made: readonly Made[]): void
}

export interface Made {
  readonly id: string
  readonly created: boolean
}
