/** Groups of failures: which there are, and their states. */
import { PetrelError } from '../../kernel/errors.ts'
import type { ErrorGroupPage, ErrorGroupQuery, ErrorGroupRow, GroupChange } from '../../model/errors/groups.ts'
import type { RunRow } from '../../model/rows.ts'
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'

interface Named {
  readonly fingerprint: string
}

interface Reason {
  readonly reason: string | null
}

/** The most recent failure first. */
export const listErrorGroups = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, query: Omit<ErrorGroupQuery, 'tenant'>): Promise<ErrorGroupPage> =>
    engine.errorGroups.list({ ...query, tenant }),
)

/** `example`: the last run that failed; null: it has been removed. */
export const showErrorGroup = operation(
  { scope: 'read' },
  async (use, named: Named): Promise<{ readonly group: ErrorGroupRow; readonly example: RunRow | null }> => {
    const { engine, caller } = use
    const group = isFingerprint(named) ? await engine.errorGroups.get({ ...named, tenant: caller.tenant }) : null
    if (group === null) throw noGroup(named)
    return { group, example: await engine.queries.run(group.lastRunId) }
  },
)

/** Its cause does not exist any more. A failure after this opens it again. */
export const resolveErrorGroup = operation({ scope: 'admin' }, (use, p: Named & Reason) =>
  change(use, p, { to: 'resolved', ...by(use, p) }),
)

/** Of `times` and `forMs` exactly one is given: until it has recurred so often, or for so long. */
export const ignoreErrorGroup = operation(
  { scope: 'admin' },
  (use, p: Named & Reason & { readonly times: number | null; readonly forMs: number | null }) => {
    const { times, forMs } = p
    if ((times === null) === (forMs === null)) {
      throw new PetrelError('invalid_request', 'a group is ignored until it recurs so many times, or for some time', {
        parameter: times === null ? 'times' : 'for',
        hint: 'Give exactly one of times, such as 100, and for, such as 7d.',
      })
    }
    return change(use, p, { to: 'ignored', times, forMs, ...by(use, p) })
  },
)

export const reopenErrorGroup = operation({ scope: 'admin' }, (use, p: Named & Reason) =>
  change(use, p, { to: 'open', ...by(use, p) }),
)

function by({ caller }: Use, { reason }: Reason): { readonly actor: string | null; readonly reason: string | null } {
  return { actor: actorOf(caller), reason }
}

async function change({ engine, caller }: Use, named: Named, change: GroupChange): Promise<ErrorGroupRow> {
  const { fingerprint } = named
  const known = isFingerprint(named)
  const group = known ? await engine.errorGroups.change({ fingerprint, tenant: caller.tenant, change }) : null
  if (group === null) throw noGroup(named)
  return group
}

function isFingerprint({ fingerprint }: Named): boolean {
  return /^[0-9a-f]{16}$/.test(fingerprint)
}

function noGroup({ fingerprint }: Named): PetrelError {
  return new PetrelError('not_found', `there is no error group ${fingerprint}`, {
    kind: 'error group',
    id: fingerprint,
    hint: 'A fingerprint has 16 hexadecimal digits; GET /v1/error-groups and `petrel errors` list them.',
  })
}
