/** Numbers of the whole server: /ojs/v1/admin/stats and its history, /unique-jobs. */

import { unscopedName } from '../../../../kernel/scoped-names.ts'
import type { UniqueHolder } from '../../../../model/queries/overview.ts'
import { endedOverTime, listUniqueKeys, serverStats } from '../../../../operations/statistics/statistics.ts'
import { textOf, wordOf } from '../../../../wire/requests/params.ts'
import { list, named, object, optional, text, time, type Value, whole, word } from '../../../../wire/schema.ts'
import { JOB_STATES, jobState } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { timeOf } from '../jobs/time-param.ts'
import { OFFSET_PAGE, OffsetPagination, offsetPageWire, pageAsked } from '../paging.ts'
import { countsOf, JobCounts, RECENT_MINUTES, Throughput, throughputOf } from './queue-wire.ts'

const MINUTE = 60_000
const PERIODS = { '1m': MINUTE, '5m': 5 * MINUTE, '1h': 60 * MINUTE, '1d': 24 * 60 * MINUTE } as const
type Period = keyof typeof PERIODS

const Stats = named(
  'Stats',
  object({
    queues: whole(),
    workers: whole('That live.'),
    jobs: JobCounts,
    throughput: Throughput,
    uptime_seconds: whole('Of this process.'),
    computed_at: time(),
  }),
)

const Ended = object({ timestamp: time(), processed: whole(), failed: whole(), cancelled: whole(), retried: whole() })

const UniqueKey = named(
  'UniqueKey',
  object({
    key: text(),
    job_id: text('The job that holds it.'),
    type: text(),
    queue: text(),
    state: word(JOB_STATES),
    locked_until: optional(time('Missing: as long as the state of its holder counts.')),
  }),
)

export const ADMIN_STATS_ROUTES = [
  route(
    'GET /ojs/v1/admin/stats',
    {
      tag: 'Administration',
      summary: 'Numbers of the whole server',
      does: serverStats,
      otherQuery: 'ignored',
      answers: { '200': { description: 'At the current time.', schema: Stats } },
    },
    async ({ perform }) => {
      const { queues, workers, now } = await perform(serverStats, { minutes: RECENT_MINUTES })
      return {
        queues: queues.length,
        workers: workers.filter(({ state }) => state !== 'dead').length,
        jobs: countsOf(queues),
        throughput: throughputOf(queues, now),
        uptime_seconds: Math.floor(process.uptime()),
        computed_at: timeText(now),
      }
    },
  ),

  route(
    'GET /ojs/v1/admin/stats/history',
    {
      tag: 'Administration',
      summary: 'Ended jobs over time',
      does: endedOverTime,
      query: {
        period: wordOf(Object.keys(PERIODS) as Period[], '5m', 'The duration of one point.'),
        since: timeOf('Default: an hour ago.'),
        until: timeOf('Default: now.'),
        queue: textOf('Only of this queue.'),
      },
      answers: {
        '200': {
          description: 'Oldest first; up to three days back.',
          schema: object({ period: text(), data: list(Ended) }),
        },
      },
    },
    async ({ query: { period, ...asked }, perform }) => {
      const points = await perform(endedOverTime, { sizeMs: PERIODS[period], ...asked })
      const data = points.map(({ at, succeeded: processed, ...others }) => ({
        timestamp: timeText(at),
        processed,
        ...others,
      }))
      return { period, data }
    },
  ),

  route(
    'GET /ojs/v1/unique-jobs',
    {
      tag: 'Jobs',
      summary: 'List held unique keys',
      does: listUniqueKeys,
      query: OFFSET_PAGE,
      answers: {
        '200': { description: 'By key.', schema: object({ items: list(UniqueKey), pagination: OffsetPagination }) },
      },
    },
    async ({ query, perform }) => {
      const page = pageAsked(query)
      const { rows, more, now } = await perform(listUniqueKeys, page)
      const total = page.offset + rows.length + (more ? 1 : 0)
      return {
        items: rows.map((row) => uniqueKeyWire(row, now)),
        pagination: { ...offsetPageWire({ page, total, hasMore: more }), ...(more ? { total_is_at_least: true } : {}) },
      }
    },
  ),
]

function uniqueKeyWire(row: UniqueHolder, now: number): Value<typeof UniqueKey> {
  return {
    key: unscopedName(row.key).replace(/^ojs:[^:]*:/, ''),
    job_id: row.runId,
    type: row.type,
    queue: row.queue,
    state: jobState(row, now),
    ...(row.expiresAt === null ? {} : { locked_until: timeText(row.expiresAt) }),
  }
}
