/** Requests and replies of workers over HTTP. */
import { MAX_BUILD_LENGTH, MAX_LATER_MS } from '../../kernel/limits.ts'
import { nameProblem } from '../../kernel/remarks.ts'
import { parseTypeFilter, TypeFilterError } from '../../kernel/type-filters.ts'
import { INBOX_RUN, InboxRun } from '../../wire/inbox-run.ts'
import { name, runtime } from '../../wire/requests/fields.ts'
import {
  anything,
  asked,
  entries,
  flag,
  line,
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
  description: 'Any name that the worker keeps while it runs.',
  hint: 'any name that the worker keeps while it runs',
})
const TYPES_HINT = 'a name such as billing.invoice.v1, or a prefix such as billing.%'

const HOLD = {
  worker_id: name({
    description: 'The name used for the claim.',
    hint: 'any name that the worker keeps while it runs',
  }),
  epoch: whole({
    description: 'The epoch returned with the run; with another one nothing changes.',
    minimum: 0,
    maximum: 2 ** 31 - 1,
    hint: 'the number returned with the claimed run',
  }),
}

export type Hold = { readonly [K in keyof typeof HOLD]: Value<(typeof HOLD)[K]> }

const REPORT_EXTRAS = {
  set: optional(
    entries(anything(), {
      description:
        'Entries of the context of its workflow, by name (1 to 128 characters); null removes one. Written before the next steps are ' +
        'decided; not if the run will be retried. A run without a workflow has no context.',
      nameProblem,
      hint: '{ "set": { "page": 3 } }; null removes an entry',
    }),
  ),
  build: optional(
    line(MAX_BUILD_LENGTH, 'The build of the program of the worker: in the history, and in the group of the failure.'),
  ),
  notes: optional(
    list(
      anything('Any JSON'),
      'For the history: stored in `data.notes` of the event of this report. 64 KiB in total; notes beyond that are dropped and counted ' +
        'in `data.notes_dropped`.',
    ),
  ),
}

export interface ReportExtras {
  readonly set?: { readonly [name: string]: unknown } | null
  readonly notes?: readonly unknown[] | null
  readonly build?: string | null
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
        description: 'The first is emptied first. If absent: all queues, by priority and age.',
        minItems: 1,
        maxItems: MOST_NAMES,
        hint: 'such as ["default"]; the first is emptied first; if absent: all',
      }),
    ),
    runtime: optional(runtime('The runtime in the registry: go, python … Without one, only types open to all.')),
    lease_seconds: optional(lease({ default: 30 })),
    limit: optional(whole({ description: 'The maximal number of runs.', minimum: 1, maximum: 100, default: 1 })),
    wait_seconds: optional(
      number({
        description: 'How long the reply may wait for a first run. A client that disconnects meanwhile gets none.',
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
  epoch: whole('Required in every report on this lease.'),
  program: anything('The program of its step, if the type alone does not determine the work; null: none.'),
  parent_results: nullable(
    entries(anything(), 'Results of the earlier steps, by step; null for a run without a workflow.'),
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
    lease_seconds: optional(lease({ description: 'If absent: the previous duration.' })),
  }),
)

export const HeartbeatReply = named(
  'LeaseHeartbeatReply',
  object({ status: word(['leased']), lease_until: time(), cancel_requested: flag('The worker should stop.') }),
)

export const CompleteRequest = named(
  'CompleteRequest',
  asked('a complete', { ...HOLD, result: optional(anything('Any JSON value.')), ...REPORT_EXTRAS }),
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
        code: optional(name('A short code of the error; handler_error if absent.')),
        category: optional(
          name('transient, agent, timeout, validation, external or governance; policies may name them.'),
        ),
        details: optional(
          anything({
            description: 'Any details. `retry_delay_ms` in it is the delay of the next attempt.',
            properties: { retry_delay_ms: nullable(whole({ minimum: 0, maximum: MAX_LATER_MS })) },
          }),
        ),
      },
      { hint: ERROR_HINT },
    ),
    retryable: optional(
      flag('false: it has failed for good. true: it is retried if an attempt is left, whatever the policy.'),
    ),
    ...REPORT_EXTRAS,
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
      description: 'The delay until it is due again.',
      minimum: 0,
      maximum: MAX_LATER_MS / 1000,
      hint: 'the delay, such as 60; 0: none',
    }),
    ...REPORT_EXTRAS,
  }),
)

export const ReleaseRequest = named('ReleaseRequest', asked('a release', HOLD))
