/** What the pages of errors have in common: states, and the queries for what belongs to a group. */
import type { Answer } from '../../api/answer.ts'
import { State } from '../../ui/state.tsx'

export type ErrorGroup = Answer<'GET /v1/error-groups/:fingerprint'>['group']

type Named = Pick<ErrorGroup, 'fingerprint' | 'node'>

/** Of bare runs: jobs and the inbox. Otherwise of steps, so that instances have failed. */
export function isOfRuns({ node }: Named): boolean {
  return node === null
}

export function instancesOf({ fingerprint }: Named): string {
  return `group:${fingerprint}`
}

export function runsOf({ fingerprint }: Named): string {
  return `group:${fingerprint}`
}

/**
 * What is still to be repaired. Workflows that handled the failure are not: a retry would be refused. Neither are those that
 * a bulk operation has retried already.
 */
export function unrepaired(group: Named): { readonly target: 'instances' | 'runs'; readonly query: string } {
  return isOfRuns(group)
    ? { target: 'runs', query: `${runsOf(group)} status:failed` }
    : { target: 'instances', query: `${instancesOf(group)} state:failed,compensated -has:retry` }
}

/** Whether an operation was ordered for this group. */
export function concerns({ q }: { readonly q: string }, { fingerprint }: Named): boolean {
  return q.split(' ').includes(`group:${fingerprint}`)
}

const LOOKS = { open: 'failed', ignored: 'skipped', resolved: 'succeeded' } as const

export function GroupState({
  group: { state, regressed },
}: {
  readonly group: Pick<ErrorGroup, 'state' | 'regressed'>
}) {
  return <State state={LOOKS[state]} label={regressed && state === 'open' ? 'open again' : state} />
}
