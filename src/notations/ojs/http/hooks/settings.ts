/** What an owner sets for a webhook: its schemas, and what they cannot express. */
import { isPublic, literalAddress } from '../../../../kernel/addresses.ts'
import { BodyNotes } from '../../../../kernel/reading/part.ts'
import {
  DEFAULT_ATTEMPTS,
  DEFAULT_TIMEOUT_MS,
  type WebhookRow,
  type WebhookSettings,
} from '../../../../model/webhooks.ts'
import { refuseMistakes } from '../../../../wire/mistaken.ts'
import {
  anything,
  asked,
  flag,
  list,
  named,
  optional,
  type Schema,
  text,
  type Value,
  whole,
} from '../../../../wire/schema.ts'

const MOST_NAMES = 100
const MAX_METADATA = 16 * 1024
const EVENT = /^(?:\*|[a-z][a-z_]*(?:\.[a-z_]+)*(?:\.\*)?)$/

const URL_FIELD = text({
  description: 'https, to a public address, unless the server allows others.',
  maxLength: 2000,
  is: 'an https URL of at most 2000 characters',
  hint: 'such as "https://example.com/hooks"',
  fits: urlFits,
})

const EVENTS = list(
  text({
    pattern: EVENT.source,
    is: 'a type of event such as job.completed or job.*',
    hint: 'such as job.completed, or job.* for all of job',
    fits: (value: string) => EVENT.test(value),
  }),
  {
    description: 'Types of events; `job.*` and `*` match many.',
    minItems: 1,
    maxItems: MOST_NAMES,
    hint: 'such as ["job.completed", "workflow.*"], or ["*"]',
  },
)

const NAMES = list(text({ minLength: 1 }), { maxItems: MOST_NAMES })

export const SECRET = text({
  description: 'Generated if absent.',
  minLength: 8,
  maxLength: 256,
  hint: 'leave it out and one is made',
})

const SETTINGS = {
  filter: optional(
    asked(
      'filter',
      { queues: optional(NAMES), job_types: optional(NAMES) },
      { description: 'Only events of jobs of these queues and types.', hint: '{ "queues": ["payments"] }' },
    ),
  ),
  active: optional(flag('false: nothing is sent, and events in the meantime are not kept.')),
  ordered: optional(flag('One at a time; a failed delivery delays those after it.')),
  timeout_ms: optional(whole({ minimum: 1_000, maximum: 60_000, default: DEFAULT_TIMEOUT_MS })),
  max_attempts: optional(
    whole({
      description: 'After these attempts a delivery is dead.',
      minimum: 1,
      maximum: 20,
      default: DEFAULT_ATTEMPTS,
    }),
  ),
  metadata: optional(anything({ type: 'object', description: 'For people.' })),
}

export const SubscribeRequest = named(
  'WebhookRequest',
  asked('a subscription', { url: URL_FIELD, events: EVENTS, secret: optional(SECRET), ...SETTINGS }),
)

export const ChangeRequest = named(
  'WebhookChange',
  asked('a subscription', {
    url: optional(URL_FIELD),
    events: optional(EVENTS),
    secret: optional(notHere()),
    ...SETTINGS,
  }),
)

type Asked = Value<typeof ChangeRequest>
type Set = Partial<Omit<WebhookSettings, 'secret' | 'oldSecret' | 'oldSecretUntil'>>

/** What the body names, and nothing else. `allowPrivate`: over plain http, and to addresses that are not public. */
export function settingsOf(body: Asked, { allowPrivate }: { readonly allowPrivate: boolean }): Set {
  const { url, events, filter, active, ordered, timeout_ms: timeoutMs, max_attempts: maxAttempts, metadata } = body
  const stored = metadata == null ? null : JSON.stringify(metadata)
  refuse(url ?? null, stored, allowPrivate)
  return {
    ...(url == null ? {} : { url: normalized(url) }),
    ...(events == null ? {} : { events }),
    ...(filter === undefined ? {} : { queues: filter?.queues ?? null, jobTypes: filter?.job_types ?? null }),
    ...(active == null ? {} : { active }),
    ...(ordered == null ? {} : { ordered }),
    ...(timeoutMs == null ? {} : { timeoutMs }),
    ...(maxAttempts == null ? {} : { maxAttempts }),
    ...(metadata === undefined ? {} : { metadata: stored }),
  }
}

export function settingsWire(row: WebhookRow) {
  const { queues, jobTypes } = row
  return {
    url: row.url,
    events: [...row.events],
    ...(queues === null && jobTypes === null
      ? {}
      : {
          filter: {
            ...(queues === null ? {} : { queues: [...queues] }),
            ...(jobTypes === null ? {} : { job_types: [...jobTypes] }),
          },
        }),
    active: row.active,
    ordered: row.ordered,
    timeout_ms: row.timeoutMs,
    max_attempts: row.maxAttempts,
    ...(row.metadata === null ? {} : { metadata: JSON.parse(row.metadata) as object }),
  }
}

function urlFits(value: string): boolean | string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false
  if (url.username === '' && url.password === '') return true
  return 'url holds a name or password; receivers know the sender by its signature'
}

function normalized(given: string): string {
  const { href } = new URL(given)
  return href === `${given}/` ? given : href
}

function refuse(given: string | null, metadata: string | null, allowPrivate: boolean): void {
  const notes = new BodyNotes()
  const root = notes.root({ url: given, metadata })
  if (given !== null && !allowPrivate) {
    const url = new URL(given)
    const part = root.get('url')
    if (url.protocol === 'http:') part.wrong('url must be https', 'plain http only with --allow-private-webhooks')
    const literal = literalAddress(url)
    const closed = literal === null ? /(?:^|\.)localhost$/i.test(url.hostname) : !isPublic(literal)
    if (closed) part.wrong(`${url.hostname} is not a public address`, 'allowed only with --allow-private-webhooks')
  }
  if (metadata !== null && metadata.length > MAX_METADATA) {
    root.get('metadata').wrong(`metadata has ${metadata.length} characters; at most ${MAX_METADATA}`)
  }
  refuseMistakes(notes)
}

function notHere(): Schema<string> {
  return text({
    description: 'Refused: POST …/rotate-secret changes it.',
    hint: 'POST …/rotate-secret',
    fits: () => 'secret is not changed here',
  })
}
