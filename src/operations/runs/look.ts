/** Reads of runs. */
import { scopedName } from '../../kernel/scoped-names.ts'
import type { InboxPage, InboxQuery } from '../../model/inbox.ts'
import type { RunQuery } from '../../model/queries/queries.ts'
import type { RunRow, StoredEvent } from '../../model/rows.ts'
import type { WhyRun } from '../../views/why.ts'
import { operation } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { findRun } from './find.ts'

/** Without the tenant, which is the caller's. */
export type InboxAsked = Omit<InboxQuery, 'tenant'>

/** Runs of the inbox, newest first. */
export const listInboxRuns = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, asked: InboxAsked): Promise<InboxPage> => {
    const { idempotencyKey: key } = asked
    const idempotencyKey = key === null || tenant === null ? key : scopedName(key, tenant)
    return engine.queries.listInbox({ ...asked, idempotencyKey, tenant })
  },
)

/** Runs of any origin with all that belongs to them, newest first unless they are sorted. */
export const listRuns = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, asked: Omit<RunQuery, 'tenant'>): Promise<readonly RunRow[]> =>
    engine.queries.listRuns({ ...asked, tenant }),
)

export const showRun = operation(
  { scope: 'read' },
  (use, { id }: { readonly id: string }): Promise<RunRow> => findRun(use, id),
)

/** What it waits for. */
export const explainRun = operation(
  { scope: 'read' },
  async (use, { id }: { readonly id: string }): Promise<WhyRun> => use.engine.whyRun(await findRun(use, id)),
)

/** Oldest first. */
export const wholeRunHistory = operation(
  { scope: 'read' },
  async (use, { id }: { readonly id: string }): Promise<readonly StoredEvent[]> =>
    use.engine.queries.runHistory((await findRun(use, id)).id),
)

/** A page, oldest first; `after`: the offset. */
export const runHistory = operation(
  { scope: 'read' },
  async (
    use,
    { id, after, limit }: { readonly id: string; readonly after: number; readonly limit: number },
  ): Promise<Page<StoredEvent>> => {
    const { id: runId } = await findRun(use, id)
    return pageOf(limit, (most) => use.engine.queries.runHistoryPage({ runId, after, limit: most }))
  },
)
