/** The marking of an instance, as columns. */
import type { Marking } from '../../views/pictures/marking.ts'
import { Instance, instanceWire } from '../instance.ts'
import { flag, list, time as moment, named, nullable, object, text, type Value, whole } from '../schema.ts'
import { time } from '../value.ts'
import { differences, numbers, WordColumn, wordColumn } from './columns.ts'

export const MarkingReply = named(
  'Marking',
  object({
    instance: Instance,
    now: moment("The store's clock."),
    seq: whole('Send it as `after` to get what changes from here on.'),
    total: whole('Nodes of the net.'),
    base: moment('Times are relative to it.'),
    nodes: list(text(), 'Keys: entry i of each column is about node i.'),
    kind: WordColumn,
    state: WordColumn,
    attempts: list(whole(), 'Executions so far, including the current one.'),
    started: numbers('Milliseconds after the entry before it that is not null; the first after `base`.'),
    took: numbers('Milliseconds from start to end; null: not ended.'),
    lists: object(
      {
        node: list(whole(), 'Index in `nodes`.'),
        pending: list(whole(), 'Not started, or not yet issued.'),
        running: list(whole()),
        completed: list(whole()),
        failed: list(whole()),
        exact: list(flag(), 'false: at least that many; items beyond 10,000 were not counted.'),
      },
      'Items of lists by state.',
    ),
    next_from: nullable(text('Of a complete marking: send it as `from` for the next page.')),
    has_more: flag('Of changes: more events follow `seq`; ask again at once.'),
  }),
)

export function markingWire(marking: Marking): Value<typeof MarkingReply> {
  const { instance, now, seq, total, nodes, next, more } = marking
  const lists = nodes.flatMap(({ items }, node) => (items === null ? [] : [{ node, ...items }]))
  return {
    instance: instanceWire(instance),
    now: time(now),
    seq,
    total,
    base: time(instance.createdAt),
    nodes: nodes.map(({ node }) => node.key),
    kind: wordColumn(nodes.map(({ node }) => node.work.kind)),
    state: wordColumn(nodes.map(({ state }) => state)),
    attempts: nodes.map(({ attempts }) => attempts),
    started: differences(
      nodes.map(({ startedAt }) => startedAt),
      instance.createdAt,
    ),
    took: nodes.map(({ startedAt, endedAt }) =>
      startedAt === null || endedAt === null ? null : Math.max(0, endedAt - startedAt),
    ),
    lists: {
      node: lists.map(({ node }) => node),
      pending: lists.map(({ pending }) => pending),
      running: lists.map(({ running }) => running),
      completed: lists.map(({ completed }) => completed),
      failed: lists.map(({ failed }) => failed),
      exact: lists.map(({ exact }) => exact),
    },
    next_from: next,
    has_more: more,
  }
}
