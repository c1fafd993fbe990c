/** A retry or fork of an ended instance as a request body, and its answer: the new instance, or what it would do. */
import type { AgainWhy, Preview, RepeatAsked } from '../../model/queries/repeats.ts'
import { AGAIN_WHY } from '../../model/queries/repeats.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { OpenEffect as Effect } from '../../model/sagas.ts'
import type { Json } from '../../net/net.ts'
import { Instance, instanceWire } from '../instance.ts'
import { OpenEffect, openEffectWire } from '../saga.ts'
import {
  anything,
  asked,
  flag,
  list,
  named,
  nullable,
  object,
  optional,
  text,
  uuid,
  type Value,
  whole,
  word,
} from '../schema.ts'
import { key, name } from './fields.ts'
import { MADE } from './start.ts'

/** Steps on a page of a preview. */
export const MOST_PREVIEWED = 100

const From = named(
  'RepeatFrom',
  asked('a place', {
    step: name({ description: 'It is done again, and so is what follows from it.', hint: 'the name of a step' }),
    firing: optional(
      whole({ description: '1: the first time that the step began. Default: the last.', minimum: 1, maximum: 100_000 }),
    ),
    item: optional(
      whole({ description: 'Of a list, from 0. Default: all of its items.', minimum: 0, maximum: 2 ** 31 - 1 }),
    ),
  }),
)

const FIELDS = {
  from: optional(From),
  args: optional(anything('Replaces all arguments of the run, or the input of the nested workflow, at that place.')),
  args_patch: optional(anything('Is merged into those it had (RFC 7396: null removes a key).')),
  input: optional(anything('Replaces the input of the old one. If absent: the same.')),
  start_key: optional(key('A second request with this key returns the same instance.')),
  dry_run: optional(flag('true: nothing starts; the answer lists what would be done again and what carried over.')),
  after: optional(text('Of a dry run: `next_after` of the page before.')),
  limit: optional(
    whole({ description: 'Of a dry run: how many steps. Default: 50.', minimum: 1, maximum: MOST_PREVIEWED }),
  ),
}

export const RetryRequest = named('RetryRequest', asked('a retry', FIELDS))
export const ForkRequest = named('ForkRequest', asked('a fork', FIELDS))

type Request = Value<typeof RetryRequest>

export function repeatAsked(id: string, { from, args, args_patch: patch, input }: Request): Omit<RepeatAsked, 'fork'> {
  return {
    id,
    ...(from == null
      ? {}
      : {
          from: {
            step: from.step,
            ...(from.firing == null ? {} : { firing: from.firing }),
            ...(from.item == null ? {} : { item: from.item }),
          },
        }),
    ...(args === undefined ? {} : { args: args as Json }),
    ...(patch === undefined ? {} : { patch: patch as Json }),
    ...(input === undefined ? {} : { input: input as Json }),
  }
}

const REPEATED = { ...MADE, retry_of: uuid(), not_undone: optional(list(OpenEffect)), instance: Instance }

export const RetryReply = named('RetryReply', object(REPEATED))

export function repeatedWire(made: {
  readonly id: string
  readonly created: boolean
  readonly of: string
  readonly open: readonly Effect[]
  readonly row: InstanceRow
}): Value<typeof RetryReply> {
  const left = made.open.length === 0 ? {} : { not_undone: made.open.map(openEffectWire) }
  return { id: made.id, created: made.created, retry_of: made.of, ...left, instance: instanceWire(made.row) }
}

const WORK = {
  instance_id: uuid('The instance, or the nested one that the step is inside of.'),
  step: text(),
  kind: word(['run', 'child', 'gate']),
  count: whole('Runs (of a list: its items), nested workflows or gates.'),
  at_least: flag('true: there are more than that; at most 1,000 are counted before, at and after the place.'),
}

export const RepeatPreview = named(
  'RepeatPreview',
  object({
    dry_run: flag(),
    retry_of: uuid('The instance that would be repeated.'),
    from: nullable(
      object({
        instance_id: uuid(),
        step: text(),
        fire: whole('Number of the firing within its instance.'),
        item: nullable(whole()),
      }),
    ),
    runs_again: list(object({ ...WORK, why: word(Object.keys(AGAIN_WHY) as AgainWhy[]) })),
    carried_over: list(object(WORK)),
    counts: object({ runs_again: whole('On this page.'), carried_over: whole('On this page.') }),
    next_after: nullable(text('Send it as `after`; null: this is the last page.')),
  }),
)

export function previewWire({ old, from, again, carried, next }: Preview): Value<typeof RepeatPreview> {
  return {
    dry_run: true,
    retry_of: old.id,
    from:
      from === null
        ? null
        : {
            instance_id: from.instanceId,
            step: from.node,
            fire: from.fire,
            item: from.item < 0 ? null : from.item,
          },
    runs_again: again.map((line) => ({ ...workWire(line), why: line.why })),
    carried_over: carried.map(workWire),
    counts: { runs_again: sum(again), carried_over: sum(carried) },
    next_after: next,
  }
}

function workWire({ instanceId, step, kind, count, atLeast }: Preview['carried'][number]) {
  return { instance_id: instanceId, step, kind, count, at_least: atLeast }
}

function sum(lines: readonly { readonly count: number }[]): number {
  return lines.reduce((all, { count }) => all + count, 0)
}
