/**
 * Fair sharing between the keys of a queue (decision 044). Among the due runs of one queue and priority, the keys take turns: each
 * gives as many runs as it weighs, then the next one. Keys of different tenants are different.
 */
import { inputError } from '../../kernel/errors.ts'
import { MAX_FAIR_KEY_LENGTH, MAX_FAIR_WEIGHT } from '../../kernel/limits.ts'
import { scopedName, unscopedName } from '../../kernel/scoped-names.ts'
import { int, type RowOf, table, text } from '../table.ts'

/** Whose turn it was last, for claims with one filter. */
export const FAIR_TURN = table('workflow_fair_turn', {
  queue: text(),
  priority: int(),
  /** The types and the tenant that these claims take: fairScope. */
  scope: text(),
  key: text(),
  /** How many runs of its turn the key has given. */
  used: int(),
})
export type FairTurnRow = RowOf<typeof FAIR_TURN>

/** A candidate whose key has its turn, in the order of the turns. */
export interface FairPlace {
  readonly runId: string
  /** If it is taken: where the turn is then. */
  readonly turn: FairTurnRow
}

export interface FairWeight {
  readonly queue: string
  /** As stored in runs. */
  readonly key: string
  readonly weight: number
}

/** A weight as its operator names it. */
export interface NamedWeight {
  readonly key: string
  readonly tenant: string | null
  readonly weight: number
}

/** Claims of the same kind of worker share their turns. */
export function fairScope(p: { readonly types: readonly string[] | null; readonly tenant: string | null }): string {
  return JSON.stringify([p.tenant, p.types === null ? null : [...p.types].sort()])
}

/** Refuses a key that no run can have. */
export function checkFairKey(key: unknown, path: string): asserts key is string {
  const fits = typeof key === 'string' && key !== '' && [...key].length <= MAX_FAIR_KEY_LENGTH
  if (fits && key.isWellFormed() && !key.includes('\0')) return
  throw inputError('invalid_request', path, `a text of 1 to ${MAX_FAIR_KEY_LENGTH} characters`)
}

export function checkFairWeight(weight: unknown, path: string): asserts weight is number {
  if (Number.isInteger(weight) && (weight as number) >= 1 && (weight as number) <= MAX_FAIR_WEIGHT) return
  throw inputError('invalid_request', path, `a whole number from 1 to ${MAX_FAIR_WEIGHT}`)
}

export function storedFairKey(key: string | undefined, tenant: string | null | undefined): string | null {
  return key === undefined ? null : scopedName(key, tenant ?? null)
}

export function namedWeight({ key, weight }: FairWeight): NamedWeight {
  const scoped = /^@([^/]+)\//.exec(key)
  return { key: unscopedName(key), tenant: scoped === null ? null : decodeURIComponent(scoped[1] as string), weight }
}
