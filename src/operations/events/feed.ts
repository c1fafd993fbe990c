/** The feed of all stored events, as far as the caller may see it. */
import type { EventPage, EventQuery } from '../../model/queries/queries.ts'
import { maySee } from '../caller.ts'
import { operation } from '../operation.ts'

export interface Feed {
  /** Whether an event is of the caller's tenant. */
  readonly sees: (event: { readonly tenant: string | null }) => boolean
  readonly read: (query: Omit<EventQuery, 'tenant'>) => Promise<EventPage>
  /** A reader that wants only new events begins after this id. */
  readonly end: () => Promise<number>
  /** Id of the oldest event that is kept; 0: none. */
  readonly start: () => Promise<number>
  /** The store's clock. */
  readonly now: () => Promise<number>
}

export const openFeed = operation(
  { scope: 'read' },
  async ({ engine: { queries }, caller }, _: null): Promise<Feed> => ({
    sees: (event) => maySee(caller, event),
    read: (query) => queries.events({ ...query, tenant: caller.tenant }),
    end: () => queries.feedEnd(),
    start: () => queries.feedStart(),
    now: () => queries.now(),
  }),
)
