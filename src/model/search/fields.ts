/** The fields of queries. docs/operate/search.md lists each with its index or its limit; a test compares. */
import type { InstanceOutcome, InstanceState } from '../../net/marking.ts'
import type { RunRole, RunStatus } from '../rows.ts'
import type { InstanceSpan, InstanceText, RunFlag, RunSpan, RunText } from './search.ts'

/** words: only these. prefix: `order*` is allowed. id: a UUID. */
export type FieldRule =
  | { readonly kind: 'text'; readonly words?: readonly string[]; readonly prefix?: true; readonly id?: true }
  | { readonly kind: 'term' }
  | { readonly kind: 'moment' }
  | { readonly kind: 'span' }
  | { readonly kind: 'number' }
  | { readonly kind: 'flag' }

export interface Fields {
  readonly of: 'instances' | 'runs'
  readonly rules: Readonly<Record<string, FieldRule>>
  /** `meta` and `input`: a name follows, as in meta.region. */
  readonly members: readonly string[]
}

const STATES: Readonly<Record<InstanceState, true>> = {
  idle: true,
  queued: true,
  running: true,
  waiting: true,
  cancelling: true,
  compensating: true,
  completed: true,
  failed: true,
  cancelled: true,
  compensated: true,
}

const OUTCOMES: Readonly<Record<InstanceOutcome, true>> = {
  success: true,
  partial: true,
  failed: true,
  timed_out: true,
  cancelled: true,
  rolled_back: true,
  rolled_back_partial: true,
}

const STATUSES: Readonly<Record<RunStatus, true>> = {
  pending: true,
  leased: true,
  succeeded: true,
  failed: true,
  cancelled: true,
}

const ROLES: Readonly<Record<RunRole, true>> = { work: true, undo: true, final: true }

/** What an instance may have: an open gate, held tokens, a pause, a deadline, a start key, failed work, a retry. */
export const HAS = ['gate', 'held', 'paused', 'deadline', 'key', 'failures', 'retry'] as const

/** true: only nested ones; any: them too. Without the filter: none. */
export const NESTED = ['false', 'true', 'any'] as const

const INSTANCE_RULES: Readonly<Record<InstanceText | InstanceSpan | 'created', FieldRule>> &
  Readonly<Record<string, FieldRule>> = {
  state: { kind: 'text', words: Object.keys(STATES) },
  name: { kind: 'text', prefix: true },
  notation: { kind: 'text' },
  outcome: { kind: 'text', words: Object.keys(OUTCOMES) },
  key: { kind: 'text' },
  original: { kind: 'text', id: true },
  has: { kind: 'text', words: HAS },
  nested: { kind: 'text', words: NESTED },
  created: { kind: 'moment' },
  age: { kind: 'span' },
  took: { kind: 'span' },
  ended: { kind: 'span' },
  tag: { kind: 'term' },
  error: { kind: 'term' },
  group: { kind: 'term' },
  initiator: { kind: 'term' },
}

const RUN_RULES: Readonly<Record<RunText | RunSpan | RunFlag | 'attempt', FieldRule>> &
  Readonly<Record<string, FieldRule>> = {
  status: { kind: 'text', words: Object.keys(STATUSES) },
  type: { kind: 'text', prefix: true },
  queue: { kind: 'text', prefix: true },
  node: { kind: 'text', prefix: true },
  role: { kind: 'text', words: Object.keys(ROLES) },
  worker: { kind: 'text', prefix: true },
  key: { kind: 'text' },
  instance: { kind: 'text', id: true },
  dead: { kind: 'flag' },
  inbox: { kind: 'flag' },
  deferred: { kind: 'flag' },
  attempt: { kind: 'number' },
  age: { kind: 'span' },
  took: { kind: 'span' },
  ended: { kind: 'span' },
  tag: { kind: 'term' },
  error: { kind: 'term' },
  group: { kind: 'term' },
}

export const INSTANCE_FIELDS: Fields = { of: 'instances', rules: INSTANCE_RULES, members: ['meta', 'input'] }
export const RUN_FIELDS: Fields = { of: 'runs', rules: RUN_RULES, members: [] }
