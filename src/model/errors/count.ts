/** Failures counted into their group, and changes of its state by an operator. Pure: the stores only carry it. */
import { withoutIds } from './fingerprint.ts'
import type { ErrorGroupRow, FailureRow, GroupChange } from './groups.ts'

/** Names of workflows and of workers in a group. */
const MAX_NAMES = 20

export function byFingerprint(failures: readonly FailureRow[]): ReadonlyMap<string, readonly FailureRow[]> {
  const groups = new Map<string, FailureRow[]>()
  for (const failure of failures) {
    const group = groups.get(failure.fingerprint)
    if (group === undefined) groups.set(failure.fingerprint, [failure])
    else group.push(failure)
  }
  return groups
}

/** The group with these failures, all of its fingerprint. null: there was none. */
export function counted(group: ErrorGroupRow | null, failures: readonly FailureRow[]): ErrorGroupRow {
  const inOrder = [...failures].sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
  let current = group
  for (const failure of inOrder) current = current === null ? opened(failure) : recurred(current, failure)
  return current as ErrorGroupRow
}

function opened({ fingerprint, tenant, type, code, node, message, at, ...last }: FailureRow): ErrorGroupRow {
  return {
    fingerprint,
    tenant,
    state: 'open',
    regressed: false,
    type,
    code,
    node,
    message: withoutIds(message),
    count: 1,
    firstAt: at,
    lastAt: at,
    definitions: last.definition === null ? [] : [last.definition],
    workers: last.worker === null ? [] : [last.worker],
    lastMessage: message,
    lastRunId: last.runId,
    lastInstanceId: last.instanceId,
    stateAt: at,
    stateBy: null,
    reason: null,
    ignoredCount: null,
    ignoredUntil: null,
  }
}

function recurred(group: ErrorGroupRow, failure: FailureRow): ErrorGroupRow {
  const { at } = failure
  const grown = {
    ...group,
    count: group.count + 1,
    firstAt: Math.min(group.firstAt, at),
    definitions: named(group.definitions, failure.definition),
    workers: named(group.workers, failure.worker),
    ...(at < group.lastAt
      ? {}
      : {
          lastAt: at,
          lastMessage: failure.message,
          lastRunId: failure.runId,
          lastInstanceId: failure.instanceId,
        }),
  }
  return opens(grown, at) ? { ...grown, ...OPEN, regressed: group.state === 'resolved', stateAt: at } : grown
}

const OPEN = { state: 'open', stateBy: null, reason: null, ignoredCount: null, ignoredUntil: null } as const

/** Whether a failure at this time opens the group again. One from before the change of state does not. */
function opens({ state, stateAt, count, ignoredCount, ignoredUntil }: ErrorGroupRow, at: number): boolean {
  if (state === 'open' || at <= stateAt) return false
  if (state === 'resolved') return true
  if (ignoredCount !== null) return count >= ignoredCount
  return ignoredUntil === null || at > ignoredUntil
}

/** The last ones first. */
function named(names: readonly string[], name: string | null): readonly string[] {
  if (name === null || names[0] === name) return names
  return [name, ...names.filter((other) => other !== name)].slice(0, MAX_NAMES)
}

export function changed(group: ErrorGroupRow, change: GroupChange, now: number): ErrorGroupRow {
  const { to, actor, reason } = change
  const set = { ...group, ...OPEN, state: to, regressed: false, stateAt: now, stateBy: actor, reason }
  if (to !== 'ignored') return set
  const { times, forMs } = change
  return {
    ...set,
    ignoredCount: times === null ? null : group.count + times,
    ignoredUntil: forMs === null ? null : now + forMs,
  }
}
