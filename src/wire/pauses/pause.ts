/** Pauses of all kinds. */
import { definitionOfQuota } from '../../model/limits.ts'
import type { PausePosition, PauseRow } from '../../model/pauses/pauses.ts'
import { Instance } from '../instance.ts'
import { list, time as moment, named, nullable, object, text, type Value, word } from '../schema.ts'
import { time } from '../value.ts'

export const TIMEOUTS = ['stop', 'run'] as const

export const Pause = named(
  'Pause',
  object({
    kind: word(['instance', 'definition', 'type', 'queue']),
    name: text('Of an instance its id; of a definition, a type or a queue its name.'),
    state: word(
      ['pausing', 'paused', 'resuming'],
      'pausing: in force, and what waits is still being set aside. resuming: over, and it is still being released.',
    ),
    timeouts: nullable(word(TIMEOUTS, 'Of an instance: whether its times stop, or run on.')),
    since: moment(),
    by: nullable(text('The operator.')),
    reason: nullable(text()),
    tenant: nullable(text()),
    resumed_at: nullable(moment()),
  }),
)

export const PauseList = named(
  'PauseList',
  object({ pauses: list(Pause), next_before: nullable(text('Send it as `before`.')) }),
)

export const PauseReply = named('PauseReply', object({ pause: Pause }))
export const InstancePauseReply = named('InstancePauseReply', object({ instance: Instance, pause: Pause }))

export function pauseWire(row: PauseRow): Value<typeof Pause> {
  const { kind, key } = row
  return {
    kind,
    name: kind === 'definition' ? definitionOfQuota(key) : key,
    state: row.state,
    timeouts: kind === 'instance' ? row.timeouts : null,
    since: time(row.pausedAt),
    by: row.actor,
    reason: row.reason,
    tenant: row.tenant,
    resumed_at: time(row.resumedAt),
  }
}

/** Where the next page begins. */
export function pauseCursor({ pausedAt, key }: PauseRow): string {
  return `${pausedAt}.${key}`
}

/** null: it is not a `next_before`. */
export function readPauseCursor(text: string): PausePosition | null {
  const [, at, key] = /^(\d{1,15})\.(.{1,600})$/s.exec(text) ?? []
  return at === undefined || key === undefined || key.includes('\0') ? null : { pausedAt: Number(at), key }
}
