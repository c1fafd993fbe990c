/** Records what instances and runs are found by (model/search/terms.ts): what they begin with, and the codes of failures. */
import { MAX_FAILURES_FOUND } from '../../kernel/limits.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import { fingerprintOf, storedMessage } from '../../model/errors/fingerprint.ts'
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import type { Search } from '../../model/search/search.ts'
import { shortTerm, startTerms } from '../../model/search/terms.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { About } from '../../net/slots.ts'
import { memberOf } from './members.ts'
import type { Failures, Terms } from './working-set.ts'

export function recordStart(change: Terms, row: InstanceRow, about: About | null, input: Json | null): void {
  if (about === null && input === null) return
  for (const term of startTerms({ ...about, input })) add(change, row, term)
}

export function recordTags(change: Terms, run: RunRow, tags: readonly string[]): void {
  for (const tag of tags) add(change, run, shortTerm('runs', 'tag', tag))
}

/**
 * A run has failed for good, held by this worker. Its instance, and the root of that, are found by the failure as well. Rows of
 * other transactions are not touched: the failure is counted into its group later.
 */
export function recordFailure(
  change: Failures,
  run: RunRow,
  { code, message }: Failure,
  by: { readonly held: RunRow | null; readonly build?: string },
): void {
  const { id: runId, instanceId, rootId, tenant, type, node } = run
  const text = storedMessage(message)
  const fingerprint = fingerprintOf({ tenant, type, code, node, message: text })
  const about: readonly Term[] = [
    ['error', code],
    ['group', fingerprint],
  ]
  addAll(change, 'runs', run, about)
  if (instanceId !== null) addToInstance(change, { id: instanceId, tenant }, about)
  if (rootId !== null && rootId !== instanceId) addToInstance(change, { id: rootId, tenant }, about)
  change.failures.push({
    id: change.deps.newId(),
    fingerprint,
    tenant,
    type,
    code: storedMessage(code),
    message: text,
    node,
    definition: instanceId === null ? null : memberOf(change, instanceId).row.name,
    worker: unscopedName(by.held?.leasedBy ?? null),
    holder: by.held === null ? null : (by.held.sessionId ?? by.held.leasedBy),
    build: by.build ?? null,
    runId,
    instanceId,
    at: change.now,
  })
}

/** The instance itself has failed, perhaps without a run that did. */
export function recordInstanceFailure(change: Failures, row: InstanceRow, code: string): void {
  addAll(change, 'instances', row, [['error', code]])
  if (row.rootId !== row.id) addToInstance(change, { id: row.rootId, tenant: row.tenant }, [['error', code]])
}

/** A list of a hundred thousand items that all fail for causes of their own must not write as many terms of its instance. */
function addToInstance(change: Failures, subject: Subject, terms: readonly Term[]): void {
  const row = change.members.get(subject.id)?.row ?? change.loaded.instances.get(subject.id)
  if ((row?.failed ?? 0) < MAX_FAILURES_FOUND) addAll(change, 'instances', subject, terms)
}

type Term = readonly [field: string, value: string]
type Subject = Pick<InstanceRow, 'id' | 'tenant'>

function addAll(change: Terms, of: Search['of'], subject: Subject, terms: readonly Term[]): void {
  for (const [field, value] of terms) add(change, subject, shortTerm(of, field, value))
}

function add({ terms }: Terms, { id, tenant }: Subject, term: string | null): void {
  if (term !== null) terms.set(`${id} ${term}`, { id, term, tenant })
}
