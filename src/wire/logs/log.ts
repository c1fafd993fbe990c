/** Lines that executions have logged. */
import { LINE_CHARACTERS, LOG_LEVELS, LOG_STREAMS } from '../../kernel/log-lines.ts'
import type { LogPart } from '../../model/logs.ts'
import {
  anything,
  asked,
  flag,
  list,
  time as moment,
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
import { time } from '../value.ts'

export const Line = named(
  'LogLine',
  object({
    run_id: uuid(),
    node: nullable(text()),
    item: nullable(whole('In a list.')),
    attempt: whole('The execution, from 1.'),
    number: whole('Counts the lines of the execution, from 0. A gap: lines that were not kept.'),
    at: nullable(moment("By the worker's clock.")),
    level: word(LOG_LEVELS),
    stream: nullable(word(LOG_STREAMS, 'Printed by a task; null: a line of the handler.')),
    text: text(),
    fields: anything('As the handler gave them; null: none.'),
  }),
)

export const LogReply = named(
  'Log',
  object({ lines: list(Line), next_after: whole('Send it as `after`.'), has_more: flag() }),
)

export const LogRequest = asked('a log', {
  worker_id: text('The worker that holds the run.'),
  epoch: whole('From the claim.'),
  lines: list(
    asked('a line', {
      text: text({ maxLength: 1_000_000, description: `Cut after ${LINE_CHARACTERS} characters.` }),
      level: optional(word(LOG_LEVELS, 'Default `info`.')),
      stream: optional(word(LOG_STREAMS, 'Text that a program has printed.')),
      fields: optional(anything('Any JSON up to 4 KiB.')),
      at: optional(moment('Default: now.')),
    }),
    { minItems: 1, maxItems: 500, description: 'At most 500.' },
  ),
})

export const LogStored = named('LogStored', object({ stored: whole('Lines.') }))

export function linesWire(parts: readonly LogPart[]): readonly Value<typeof Line>[] {
  return parts.flatMap(({ runId, node, item, attempt, first, lines }) =>
    lines.map(({ t, l, s, m, f }, at) => ({
      run_id: runId,
      node,
      item: item < 0 ? null : item,
      attempt,
      number: first + at,
      at: time(t),
      level: l,
      stream: s ?? null,
      text: m,
      fields: f ?? null,
    })),
  )
}
