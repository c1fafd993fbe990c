/** Requests and replies of workers over HTTP. */
import { MAX_LATER_MS } from '../../kernel/limits.ts'
import { nameProblem } from '../../kernel/remarks.ts'
import { parseTypeFilter, TypeFilterError } from '../../kernel/type-filters.ts'
import { INBOX_RUN, InboxRun } from '../../wire/inbox-run.ts'
import { name, runtime } from '../../wire/requests/fields.ts'
import {
  anything,
  asked,
  entries,
  flag,
  list,
  named,
  nullable,
  number,
  object,
  optional,
  text,
  time,
  type Value,
  whole,
  word,
} from '../../wire/schema.ts'

const MOST_NAMES = 100
const WORKER = name({
  description: 'Any name the worker keeps for its life.',
  hint: 'any name the worker keeps for its life',
})
const TYPES_HINT = 'a name such as billing.invoice.v1, or a prefix such as billing.%'

const HOLD = {
  worker_id: name({ description: 'As it was claimed with.', hint: 'any name the worker keeps for its life' }),
  epoch: whole({
    description: 'As it came with the run; under another one nothing is changed.',
    minimum: 0,
    maximum: 2 ** 31 - 1,
    hint: 'the number that came with the claimed run',
  }),
}

export type Hold = { readonly [K in keyof typeof HOLD]: Value<(typeof HOLD)[K]> }

const SAID = {
  set: optional(
    entries(anything(), {
      description:
        'Entries of the context of its workflow, by name (1 to 128 characters); null removes one. Written before what follows is ' +
        'decided; not if the run is to be tried again. A run of no workflow has no context.',
      nameProblem,
      hint: '{ "set": { "page": 3 } }; null removes an entry',
    }),
  ),
  notes: optional(
    list(
      anything('Any JSON'),
      'For the history: kept in `data.notes` of the event that tells of this. 64 KiB in all; what is beyond is dropped and counted ' +
        'in `data.notes_dropped`.',
    ),
  ),
}

export interface Said {
  readonly set?: { readonly [name: string]: unknown } | null
  readonly notes?: readonly unknown[] | null
}

const lease = (more: object) => number({ minimum: 1, maximum: 86_400, ...more })

export const ClaimRequest = named(
  'ClaimRequest',
  asked('a claim', {
    worker_id: WORKER,
    types: list(text({ fits: isTypeFilter, hint: TYPES_HINT }), {
      description: '`billing.invoice.v1`, or a prefix: `billing.%`.',
      minItems: 1,
      maxItems: MOST_NAMES,
      hint: TYPES_HINT,
    }),
    queues: optional(
      list(name(), {
        description: 'The first is emptied first. Left out: all of them, by priority and age.',
        minItems: 1,
        maxItems: MOST_NAMES,
        hint: 'such as ["default"]; the first is emptied first; left out: all of them',
      }),
    ),
    runtime: optional(
      runtime('What the registry calls its language: go, python … Without one, only types open to all.'),
    ),
    lease_seconds: optional(lease({ default: 30 })),
    limit: optional(whole({ description: 'Runs at most.', minimum: 1, maximum: 100, default: 1 })),
    wait_seconds: optional(
      number({
        description: 'How long the answer may wait for a first run. Whoever hangs up meanwhile gets none.',
        minimum: 0,
        maximum: 30,
        default: 0,
      }),
    ),
  }),
)

function isTypeFilter(value: string): boolean | string {
  try {
    parseTypeFilter(value)
    return true
  } catch (error) {
    if (error instanceof TypeFilterError) return error.message
    throw error
  }
}

const ClaimedRun = object({
  ...INBOX_RUN,
  epoch: whole('Goes with every report on this lease.'),
  program: anything('What its step says is to be done, where the type alone does not; null: nothing.'),
  parent_results: nullable(
    entries(anything(), 'Results of the steps before it, by step; null for a run of no workflow.'),
  ),
})

export type ClaimedRun = Value<typeof ClaimedRun>

export const ClaimReply = named('ClaimReply', object({ runs: list(ClaimedRun) }))

export const StopRequest = asked('a stop', { worker_id: WORKER })
export const StopReply = object({ stopped: whole() })

export const HeartbeatRequest = named(
  'LeaseHeartbeat',
  asked('a heartbeat', {
    ...HOLD,
    lease_seconds: optional(lease({ description: 'Left out: as long as before.' })),
  }),
)

export const HeartbeatReply = named(
  'LeaseHeartbeatReply',
  object({ status: word(['leased']), lease_until: time(), cancel_requested: flag('The worker should stop.') }),
)

export const CompleteRequest = named(
  'CompleteRequest',
  asked('a complete', { ...HOLD, result: optional(anything('Any JSON value.')), ...SAID }),
)

const ERROR_HINT = '{ "message": "what went wrong", "code": "card_declined" }'

export const FailRequest = named(
  'FailRequest',
  asked('a fail', {
    ...HOLD,
    error: asked(
      'an error',
      {
        message: text({ hint: ERROR_HINT }),
        code: optional(name('What went wrong, in a word; handler_error if left out.')),
        category: optional(
          name('transient, agent, timeout, validation, external or governance; policies may name them.'),
        ),
        details: optional(
          anything({
            description: 'Whatever helps. `retry_delay_ms` in it says when to come again.',
            properties: { retry_delay_ms: nullable(whole({ minimum: 0, maximum: MAX_LATER_MS })) },
          }),
        ),
      },
      { hint: ERROR_HINT },
    ),
    retryable: optional(
      flag('false: it has failed for good. true: again, whatever the policy says, if an attempt is left.'),
    ),
    ...SAID,
  }),
)

export const FailReply = named(
  'FailReply',
  object({ run: InboxRun, retry_in_seconds: nullable(number('null: it has failed for good.')) }),
)

export const LaterRequest = named(
  'LaterRequest',
  asked('a later', {
    ...HOLD,
    delay_seconds: number({
      description: 'Due again in so long.',
      minimum: 0,
      maximum: MAX_LATER_MS / 1000,
      hint: 'how long it is to wait, such as 60; 0: not at all',
    }),
    ...SAID,
  }),
)

export const ReleaseRequest = named('ReleaseRequest', asked('a release', HOLD))
