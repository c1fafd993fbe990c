/** What people have done, and programs under their names. */
import type { AuditPage } from '../../model/queries/audit.ts'
import { operation } from '../operation.ts'

/** A caller that belongs to a tenant sees what was done to its own. */
export const readAudit = operation(
  { scope: 'admin' },
  (
    { engine, caller },
    asked: { readonly actor: string | null; readonly before: number | null; readonly limit: number },
  ): Promise<AuditPage> => engine.queries.overview.audit({ ...asked, tenant: caller.tenant }),
)
