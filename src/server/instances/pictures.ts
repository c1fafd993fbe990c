/** GET /v1/instances/:id/timeline and /marking: pictures of an instance, as columns. */
import { showMarking, showTimeline } from '../../operations/instances/pictures.ts'
import { isTimelineCursor } from '../../views/pictures/timeline.ts'
import { MarkingReply, markingWire } from '../../wire/pictures/marking.ts'
import { TimelineReply, timelineWire } from '../../wire/pictures/timeline.ts'
import { pageSize, parsed, storedText, wholeOrNone, wordOf } from '../../wire/requests/params.ts'
import { text } from '../../wire/schema.ts'
import { route } from '../context.ts'

const cursor = (given: string): string | null => (isTimelineCursor(given) ? given : null)

const AS_COLUMNS =
  'Columns: entry i of each column of `rows` is about row i. Words are listed once and referred to by index; times are ' +
  'differences in milliseconds.'

export const PICTURE_ROUTES = [
  route(
    'GET /v1/instances/:id/timeline',
    {
      tag: 'Instances',
      summary: 'When the work of an instance waited and ran',
      description:
        'Gates, then children, then runs, each by step, firing and item. Segments cover each row from its creation to its ' +
        `end: per attempt it waits, with the reason, and runs, with its worker. ${AS_COLUMNS}`,
      does: showTimeline,
      query: {
        node: storedText('Only of this step.'),
        after: parsed('`next_after` of the previous page.', text(), cursor, 'the next_after of a page'),
        limit: pageSize(1000, 200),
        ids: wordOf(['true', 'false'], 'false', 'true: with the id of each row, which does not compress.'),
      },
      answers: { '200': { description: 'A page of rows.', schema: TimelineReply } },
      errors: ['not_found', 'invalid_request'],
      compressed: true,
    },
    async ({ params, query: { ids, ...asked }, perform }) =>
      timelineWire(await perform(showTimeline, { ...params, ...asked }), ids === 'true'),
  ),

  route(
    'GET /v1/instances/:id/marking',
    {
      tag: 'Instances',
      summary: 'The state of each node, or what has changed',
      description:
        'Without `after` the complete marking, page by page in the order of the definition. With `after` the nodes whose ' +
        'state may have changed after that event number, with their current state: put over the marking of that number ' +
        'they give the current one. Items of lists are counts. Columns: entry i of each column is about node i.',
      does: showMarking,
      query: {
        after: wholeOrNone(
          { least: 0, most: Number.MAX_SAFE_INTEGER },
          { description: '`seq` of an earlier answer: only what has changed since.' },
        ),
        from: storedText('`next_from` of the previous page: the name of its last node.'),
        limit: pageSize(2000, 1000),
      },
      answers: { '200': { description: 'A page of nodes, or the changes.', schema: MarkingReply } },
      errors: ['not_found', 'invalid_request'],
      compressed: true,
    },
    async ({ params, query, perform }) => markingWire(await perform(showMarking, { ...params, ...query })),
  ),
]
