/** Why, as /v1 and `petrel why --json` show it: each reason with its facts and a sentence. */
import type { Why, WhyRun } from '../views/why.ts'
import type { InstanceReason, Reason, Wait } from '../views/why-reasons.ts'
import { Instance, instanceWire } from './instance.ts'
import { Run, runWire } from './run.ts'
import { list, time as moment, named, nullable, object, text, uuid, type Value, whole, word } from './schema.ts'
import { time, type Wire } from './value.ts'
import { aboutWords, type Moments, reasonWords } from './why-words.ts'

const CLOCK: Moments = {
  when: (at) => `at ${time(at)}`,
  since: (at) => `since ${time(at)}`,
  span: (ms) => `${ms} ms`,
}

export const WhyReason = named(
  'WhyReason',
  object(
    { kind: text('Stable; docs/why.md lists them.'), text: text('The same as a sentence.') },
    'Further fields by kind: ids, names, counts, times.',
  ),
)

export const WhyReply = named(
  'Why',
  object({
    instance: Instance,
    now: moment("The store's clock."),
    about: list(WhyReason, 'Of the instance as a whole.'),
    waits: list(
      object({
        node: nullable(text()),
        item: nullable(whole('In a list.')),
        role: word(['work', 'undo', 'final']),
        run: nullable(uuid()),
        state: word(['pending', 'running', 'completed', 'failed', 'skipped']),
        reasons: list(WhyReason),
      }),
    ),
    next_after: nullable(text('Send it as `after`.')),
  }),
)

type Reasoned = Value<typeof WhyReason>

export function whyWire({ instance, now, about, waits, next }: Why): Value<typeof WhyReply> {
  return {
    instance: instanceWire(instance),
    now: time(now),
    about: about.map(aboutWire),
    waits: waits.map(waitWire),
    next_after: next,
  }
}

export const WhyRunReply = named(
  'WhyRun',
  object({
    run: Run,
    now: moment("The store's clock."),
    reasons: list(WhyReason, 'Empty: it has ended.'),
  }),
)

export function whyRunWire({ run, now, reasons }: WhyRun): Value<typeof WhyRunReply> {
  return { run: runWire(run), now: time(now), reasons: reasons.map(reasonWire) }
}

function waitWire({ reasons, ...wait }: Wait): Value<typeof WhyReply>['waits'][number] {
  return { ...wait, reasons: reasons.map(reasonWire) }
}

function aboutWire(reason: InstanceReason): Reasoned {
  return { ...snake(reason), kind: reason.kind, text: aboutWords(reason, CLOCK) }
}

export function reasonWire(reason: Reason): Reasoned {
  const text = reasonWords(reason, CLOCK)
  if (reason.kind === 'child') {
    const { kind, child, about, waits, more } = reason
    const inside = { child: instanceWire(child), about: about.map(aboutWire), waits: waits.map(waitWire), more }
    return { kind, ...inside, text } as Reasoned
  }
  if (reason.kind !== 'lease') return { ...snake(reason), kind: reason.kind, text }
  const { worker, ...rest } = reason
  const who = worker === null ? null : { id: worker.id, host: worker.host, pid: worker.pid, state: worker.state }
  const alive = worker === null ? {} : { heartbeat_at: time(worker.heartbeatAt), expires_at: time(worker.expiresAt) }
  const held = { ...snake(rest), worker: who === null ? null : { ...who, ...alive } }
  return { ...held, kind: reason.kind, text }
}

/** Names in snake_case; names that end in At, or are listed as times, as RFC 3339. */
function snake(value: object): Wire {
  return Object.fromEntries(
    Object.entries(value).map(([key, given]) => {
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      return [name, isMoment(key) && typeof given === 'number' ? time(given) : given]
    }),
  )
}

function isMoment(key: string): boolean {
  return key.endsWith('At') || key === 'at' || key === 'since' || key === 'until'
}
