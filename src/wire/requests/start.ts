/** The start of a deployed definition, as a request body, and its answer. */

import { MAX_TERM_LENGTH } from '../../kernel/limits.ts'
import { BodyNotes } from '../../kernel/reading/part.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { DebounceParams } from '../../model/schedules/debounce.ts'
import type { Json } from '../../net/net.ts'
import { type Given, givenWire } from '../given.ts'
import { Instance, instanceWire } from '../instance.ts'
import { type Body, checked, refuseMistakes } from '../mistaken.ts'
import {
  anything,
  asked,
  entries,
  flag,
  line,
  list,
  named,
  nullable,
  object,
  optional,
  uuid,
  type Value,
} from '../schema.ts'
import { Debounce, debounceGiven } from './debounce.ts'
import { FAIR_KEY, key, name } from './fields.ts'

export const StartRequest = named(
  'StartRequest',
  asked('a start', {
    workflow: name({ description: 'Name of a deployed definition.', hint: 'the name of a deployed definition' }),
    version: optional(name('The version. Default: the latest.')),
    input: optional(anything('The input; must match its schema, if it has one.')),
    start_key: optional(key('Unique: a second start with the same key returns the first instance.')),
    start: optional(
      flag('false: it stays idle until it is started by hand, by an event or by its schedule. Default: true.'),
    ),
    meta: optional(entries(anything(), { description: 'Stored with it.', hint: 'such as { "ticket": "T-17" }' })),
    tags: optional(list(line(MAX_TERM_LENGTH), 'Queries find it by them: `tag:eu`.')),
    fair_key: optional(FAIR_KEY),
    correlation_id: optional(key('The correlation id of its events. Default: its id.')),
    debounce: optional(Debounce),
  }),
)

/** The result of a start or a retry. */
export const MADE = {
  id: uuid(),
  created: flag('false: the start key was already used, and this is the instance that has it.'),
}

export const StartReply = named(
  'StartReply',
  object({
    ...MADE,
    definition: anything('Id, name and version of its definition.'),
    instance: nullable(Instance),
  }),
)

/** null: it starts at once. A start key, or an instance that stays idle, contradicts it. */
export function debounceAsked(body: Value<typeof StartRequest>): DebounceParams | null {
  return debounceGiven(body, ['start_key', 'start'])
}

export interface StartAsked {
  readonly name: string
  /** null: the latest. */
  readonly version: string | null
  readonly input: Json
  readonly startKey?: string
  readonly start?: boolean
  readonly meta?: Json
  readonly tags?: readonly string[]
  readonly fairKey?: string
}

/** For a body that has not been checked. */
export function readStart(body: Body): StartAsked {
  return startAsked(checked(StartRequest, body))
}

/** For a body that has not been checked. */
export function readDebounce(body: Body): DebounceParams | null {
  return debounceAsked(checked(StartRequest, body))
}

export function startAsked(body: Value<typeof StartRequest>): StartAsked {
  const { workflow, version, input, start_key: startKey, start, tags, fair_key: fairKey } = body
  const meta = metaOf(body)
  return {
    name: workflow,
    version: version ?? null,
    input: (input ?? null) as Json,
    ...(startKey == null ? {} : { startKey }),
    ...(start == null ? {} : { start }),
    ...(meta === null ? {} : { meta }),
    ...(tags == null ? {} : { tags }),
    ...(fairKey == null ? {} : { fairKey }),
  }
}

/** The correlation id of all events of its steps has a separate field, and is stored with the rest. */
function metaOf(body: Value<typeof StartRequest>): Json | null {
  const { correlation_id: correlationId } = body
  const meta = (body.meta ?? null) as { readonly [name: string]: Json } | null
  if (correlationId == null) return meta
  if (Object.hasOwn(meta ?? {}, 'correlationId')) {
    const notes = new BodyNotes()
    const twice = notes.root(body).get('meta').get('correlationId')
    twice.wrong('correlation_id is given as well', 'leave one of the two out')
    refuseMistakes(notes)
  }
  return { ...meta, correlationId }
}

interface Made {
  readonly id: string
  readonly created: boolean
  /** null: it has been removed since. */
  readonly row: InstanceRow | null
  readonly given: Given
}

/** The instance itself names its definition: under a used key it may be another one than requested. */
export function startedWire({ id, created, row, given }: Made): Value<typeof StartReply> {
  const meta = givenWire(given).meta as { readonly definition?: unknown } | null
  return { id, created, definition: meta?.definition ?? null, instance: row === null ? null : instanceWire(row) }
}
