/** Session settings of our connections, by purpose. */
import { type Call, statement } from './statement.ts'

export const EVERYWHERE = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  jit: 'off',
  default_transaction_isolation: 'read committed',
}

/**
 * How long a statement waits for a row. Our own transactions hold one for a few milliseconds; a row that takes longer
 * is held elsewhere, and a lane that waited for it would keep everything behind it waiting (foreign-locks.ts).
 */
export const LOCK_WAIT_MS = 50

/**
 * Settles run the same statements for years on tables that may be empty when they are planned: plans are made once,
 * for any size, by index and nested loop only; and a LIMIT reads along the index that has its order instead of
 * sorting the whole table.
 */
export const FOR_WORK = {
  ...EVERYWHERE,
  synchronous_commit: 'on',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  idle_in_transaction_session_timeout: '15s',
  statement_timeout: '60s',
  lock_timeout: `${LOCK_WAIT_MS}ms`,
}

export const FOR_READS = {
  ...EVERYWHERE,
  statement_timeout: '60s',
  lock_timeout: `${LOCK_WAIT_MS}ms`,
  idle_in_transaction_session_timeout: '15s',
}

/**
 * Added for statements that walk an index step by step: the planner must not sort all pending runs to take the first,
 * whatever the statistics suggest.
 */
export const IN_ORDER = { enable_sort: 'off', enable_incremental_sort: 'off' }

/** Beats and wakes can be lost in a power cut without harm: they do not wait for the disk. */
export const FOR_SIGNALS = { ...FOR_READS, synchronous_commit: 'off' }

/** Settings as one statement that lasts a transaction, for connections that belong to a pooler. */
export function settingsCall(settings: Readonly<Record<string, string>>): Call {
  const parts = Object.entries(settings).map(([key, value]) => `set_config('${key}', '${value}', true)`)
  return { statement: statement(`SELECT ${parts.join(', ')}`), values: [] }
}

/** IN_ORDER, sent ahead of one statement. */
export const STEPWISE = settingsCall(IN_ORDER).statement
