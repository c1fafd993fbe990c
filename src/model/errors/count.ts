/** Failures counted into their group, and changes of its state by an operator. Pure: the stores only carry it. */
import { withoutIds } from './fingerprint.ts'
import { changesOf, type ErrorGroupRow, type FailureRow, type GroupChange, type StateChange } from './groups.ts'

/** Names of workflows, names of workers and builds in a group. */
const MAX_NAMES = 20
/** Changes of the state that a group remembers. */
const MAX_CHANGES = 20

export function byFingerprint(failures: readonly FailureRow[]): ReadonlyMap<string, readonly FailureRow[]> {
  const groups = new Map<string, FailureRow[]>()
  for (const failure of failures) {
    const group = groups.get(failure.fingerprint)
    if (group === undefined) groups.set(failure.fingerprint, [failure])
    else group.push(failure)
  }
  return groups
}

/** Workers whose build must be looked up: they have not reported it with the failure. */
export function holdersOf(failures: readonly FailureRow[]): readonly string[] {
  return [...new Set(failures.flatMap(({ build, holder }) => (build === null && holder !== null ? [holder] : [])))]
}

/** The failures with the builds of their holders. */
export function withBuilds(
  failures: readonly FailureRow[],
  builds: ReadonlyMap<string, string>,
): readonly FailureRow[] {
  if (builds.size === 0) return failures
  return failures.map((failure) => ({ ...failure, build: failure.build ?? builds.get(failure.holder ?? '') ?? null }))
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
    builds: last.build === null ? [] : [last.build],
    lastMessage: message,
    lastRunId: last.runId,
    lastInstanceId: last.instanceId,
    stateAt: at,
    stateBy: null,
    reason: null,
    ignoredCount: null,
    ignoredUntil: null,
    changes: '[]',
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
    builds: named(group.builds, failure.build),
    ...(at < group.lastAt
      ? {}
      : {
          lastAt: at,
          lastMessage: failure.message,
          lastRunId: failure.runId,
          lastInstanceId: failure.instanceId,
        }),
  }
  if (!opens(grown, at)) return grown
  return noted({ ...grown, ...OPEN, regressed: group.state === 'resolved', stateAt: at })
}

const OPEN = { state: 'open', stateBy: null, reason: null, ignoredCount: null, ignoredUntil: null } as const

/** Whether a failure at this time opens the group again. One from before the change of state does not. */
function opens({ state, stateAt, count, ignoredCount, ignoredUntil }: ErrorGroupRow, at: number): boolean {
  if (state === 'open' || at <= stateAt) return false
  if (state === 'resolved') return true
  if (ignoredCount !== null) return count >= ignoredCount
  return ignoredUntil === null || at > ignoredUntil
}

/** The newest first. */
function noted(group: ErrorGroupRow): ErrorGroupRow {
  const { state, stateAt: at, stateBy: by, reason } = group
  const change: StateChange = { state, at, by, reason }
  return { ...group, changes: JSON.stringify([change, ...changesOf(group)].slice(0, MAX_CHANGES)) }
}

/** The last ones first. */
function named(names: readonly string[], name: string | null): readonly string[] {
  if (name === null || names[0] === name) return names
  return [name, ...names.filter((other) => other !== name)].slice(0, MAX_NAMES)
}

export function changed(group: ErrorGroupRow, change: GroupChange, now: number): ErrorGroupRow {
  const { to, actor, reason } = change
  const set = { ...group, ...OPEN, state: to, regressed: false, stateAt: now, stateBy: actor, reason }
  if (to !== 'ignored') return noted(set)
  const { times, forMs } = change
  return noted({
    ...set,
    ignoredCount: times === null ? null : group.count + times,
    ignoredUntil: forMs === null ? null : now + forMs,
  })
}
