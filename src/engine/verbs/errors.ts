/** What can be done with groups of failures. What has failed before a call is counted first. */
import type { ErrorGroupPage, ErrorGroupQuery, ErrorGroupRow, ErrorGroups } from '../../model/errors/groups.ts'
import type { Parts } from '../parts.ts'
import { countFailures } from '../time/failures.ts'

export interface ErrorVerbs {
  readonly errorGroups: {
    list(query: ErrorGroupQuery): Promise<ErrorGroupPage>
    get(params: Parameters<ErrorGroups['get']>[0]): Promise<ErrorGroupRow | null>
    change(params: Parameters<ErrorGroups['change']>[0]): Promise<ErrorGroupRow | null>
  }
}

export function errorVerbs({ store }: Parts): ErrorVerbs {
  const after = async <T>(work: () => Promise<T>): Promise<T> => {
    await countFailures(store, { wait: true })
    return work()
  }
  return {
    errorGroups: {
      list: (query) => after(() => store.errorGroups.list(query)),
      get: (params) => after(() => store.errorGroups.get(params)),
      change: (params) => after(() => store.errorGroups.change(params)),
    },
  }
}
