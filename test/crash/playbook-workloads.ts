/** The playbooks beside this file, and the end each must reach. Every task other than noop posts to the ledger. */
import { readFileSync } from 'node:fs'

type Counts = { readonly [name: string]: number }

export interface Expected {
  readonly status: 'success' | 'failed' | 'partial'
  /** Number of tokens that each step ended well, for steps with any. */
  readonly done: Counts
  readonly failed?: Counts
  /** By task; if absent, one for each token that was done. Zero excludes a task. */
  readonly effects?: Counts
  readonly final?: string
  /** Entries of its context at the end. */
  readonly context?: { readonly [name: string]: unknown }
  /** Executions that it has started, by name. */
  readonly children?: Counts
}

export const EXPECTED: Readonly<Record<string, Expected>> = {
  fan: {
    status: 'success',
    done: { begin: 1, part: 1, left: 1, right: 2, collect: 3, report: 1 },
    effects: { part: 0 },
    final: 'report',
  },
  meet: {
    status: 'success',
    done: { part: 1, left: 1, right: 1, far: 1, aside: 1, collect: 1, behind: 1, report: 1 },
    effects: { part: 0 },
    final: 'report',
  },
  items: {
    status: 'success',
    done: { wide: 1, line: 1, total: 1 },
    effects: { wide: 11, line: 4 },
    context: { stats: { total: 12, success: 11, failed: 1 } },
  },
  jump: { status: 'success', done: { read: 1 }, effects: { read: 0, page: 4 }, context: { rows: 100 } },
  cycle: { status: 'success', done: { read: 4, done: 1 }, context: { rows: 100 } },
  flaky: { status: 'success', done: { call: 1, after: 1 } },
  rest: {
    status: 'success',
    done: { call: 1, after: 1, report: 1 },
    effects: { call: 0, before: 1, limited: 1 },
    final: 'report',
    context: { begun: true },
  },
  orders: {
    status: 'success',
    done: { each_order: 1, tell: 1, count: 1 },
    effects: { each_order: 0, tell: 0 },
    context: { stats: { total: 3, success: 2, failed: 1 } },
    children: { order: 3, notice: 1 },
  },
  broken: { status: 'failed', done: { rescue: 1, tidy_up: 1 }, failed: { first: 1, second: 1 }, final: 'tidy_up' },
  partial: {
    status: 'partial',
    done: { part: 1, good: 1, tidy_up: 1 },
    failed: { bad: 1 },
    effects: { part: 0 },
    final: 'tidy_up',
  },
  gate: {
    status: 'success',
    done: { draft: 1, send: 2, archive: 1 },
    effects: { draft: 0 },
    final: 'archive',
    context: { approved: true },
  },
}

/** What an execution started by another has done, by its name and the state it ended in. */
export const CHILD_EFFECTS: Readonly<Record<string, Counts>> = {
  'order completed': { charge: 1, receipt: 1 },
  'order failed': { receipt: 1 },
  'notice completed': { notice: 1 },
}

/** Ends so much later than the others that the next wave starts before. */
export const SLOW: ReadonlySet<string> = new Set(['rest'])

/** Playbooks that others refer to come first. */
export function playbookTexts(): readonly string[] {
  const files = ['order', 'notice', ...Object.keys(EXPECTED)]
  return files.map((name) => readFileSync(new URL(`playbooks/${name}.yaml`, import.meta.url), 'utf8'))
}
