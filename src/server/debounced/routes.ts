/** /v1/debounced: starts that wait until no other has followed under their key. */
import { readId } from '../../kernel/ids.ts'
import { cancelDebounced, listDebounced, startDebounced } from '../../operations/debounced/debounced.ts'
import { DebouncedList, DebouncedReply, debouncedListWire, debouncedWire } from '../../wire/operate/debounced.ts'
import { pageSize, parsed } from '../../wire/requests/params.ts'
import { uuid } from '../../wire/schema.ts'
import { route } from '../context.ts'

export const DEBOUNCED_ROUTES = [
  route(
    'GET /v1/debounced',
    {
      tag: 'Instances',
      summary: 'List debounced starts that wait',
      does: listDebounced,
      description: 'Of definitions and of runs. A key of a tenant sees those of its tenant.',
      query: {
        limit: pageSize(),
        before: parsed('`next_before` of the previous page.', uuid(), readId, '`next_before` of a page'),
      },
      answers: { '200': { description: 'The newest series first.', schema: DebouncedList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => {
      const { rows, more } = await perform(listDebounced, query)
      return debouncedListWire(rows, more)
    },
  ),

  route(
    'POST /v1/debounced/:id/start',
    {
      tag: 'Instances',
      summary: 'Start a debounced start before it is due',
      does: startDebounced,
      description: 'The last start of the series, at once. A start that follows later begins another series.',
      nothing: 'a start',
      answers: { '200': { description: 'As it was; its id is that of the instance or run.', schema: DebouncedReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ debounced: debouncedWire(await perform(startDebounced, params)) }),
  ),

  route(
    'POST /v1/debounced/:id/cancel',
    {
      tag: 'Instances',
      summary: 'Cancel a debounced start',
      does: cancelDebounced,
      description: 'Nothing is started. What has started already is cancelled as an instance or a run.',
      nothing: 'a cancel',
      answers: { '200': { description: 'As it was.', schema: DebouncedReply } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ debounced: debouncedWire(await perform(cancelDebounced, params)) }),
  ),
]
