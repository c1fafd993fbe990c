/** Why, as /v1 and `petrel why --json` show it: each reason with its facts and a sentence. */
import type { Why, WhyRun } from '../views/why.ts'
import type { InstanceReason, Reason, Wait } from '../views/why-reasons.ts'
import { instanceWire } from './instance.ts'
import { runWire } from './run.ts'
import { time, type Wire } from './value.ts'
import { aboutWords, type Moments, reasonWords } from './why-words.ts'

const CLOCK: Moments = {
  when: (at) => `at ${time(at)}`,
  since: (at) => `since ${time(at)}`,
  span: (ms) => `${ms} ms`,
}

export function whyWire({ instance, now, about, waits, next }: Why): Wire {
  return {
    instance: instanceWire(instance),
    now: time(now),
    about: about.map(aboutWire),
    waits: waits.map(waitWire),
    next_after: next,
  }
}

export function whyRunWire({ run, now, reasons }: WhyRun): Wire {
  return { run: runWire(run), now: time(now), reasons: reasons.map(reasonWire) }
}

function waitWire({ reasons, ...wait }: Wait): Wire {
  return { ...snake(wait), reasons: reasons.map(reasonWire) }
}

function aboutWire(reason: InstanceReason): Wire {
  return { ...snake(reason), text: aboutWords(reason, CLOCK) }
}

function reasonWire(reason: Reason): Wire {
  const text = reasonWords(reason, CLOCK)
  if (reason.kind === 'child') {
    const { kind, child, about, waits, more } = reason
    return { kind, child: instanceWire(child), about: about.map(aboutWire), waits: waits.map(waitWire), more, text }
  }
  if (reason.kind !== 'lease') return { ...snake(reason), text }
  const { worker, ...rest } = reason
  const who = worker === null ? null : { id: worker.id, host: worker.host, pid: worker.pid, state: worker.state }
  const alive = worker === null ? {} : { heartbeat_at: time(worker.heartbeatAt), expires_at: time(worker.expiresAt) }
  return { ...snake(rest), worker: who === null ? null : { ...who, ...alive }, text }
}

/** Names in snake_case; what ends in At, or is named as a moment, as RFC 3339. */
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
