/** Orders of bulk operations: what may be done with instances and with runs, and the same order as a command. */
import { AnswerError } from '../../../src/http/describe/client.ts'
import type { Action, Target } from '../../../src/model/bulk/rows.ts'

export interface Choice {
  readonly action: Action
  readonly label: string
  /** What it does, for the dialog. */
  readonly effect: string
  readonly danger: boolean
}

export const CHOICES: Readonly<Record<Target, readonly Choice[]>> = {
  instances: [
    {
      action: 'retry',
      label: 'Retry',
      effect: 'Starts a new instance for each, which takes over what the failed one finished. Each is retried once.',
      danger: false,
    },
    {
      action: 'cancel',
      label: 'Cancel',
      effect: 'Ends them as their notation does: completed work stays, or is undone.',
      danger: true,
    },
    {
      action: 'roll_back',
      label: 'Roll back',
      effect: 'Undoes what they have completed, the last step first, and ends them.',
      danger: true,
    },
    {
      action: 'pause',
      label: 'Pause',
      effect: 'Nothing new begins in them until they are resumed. Work that workers hold may end.',
      danger: false,
    },
    { action: 'resume', label: 'Resume', effect: 'Ends the pauses of these instances.', danger: false },
    {
      action: 'delete',
      label: 'Delete',
      effect: 'Removes ended instances with all that belongs to them. This cannot be taken back.',
      danger: true,
    },
  ],
  runs: [
    {
      action: 'redrive',
      label: 'Redrive',
      effect: 'Failed, cancelled and dead-lettered runs are pending again, from their first attempt.',
      danger: false,
    },
    { action: 'cancel', label: 'Cancel', effect: 'Ends them at once, even while a worker holds them.', danger: true },
    { action: 'dismiss', label: 'Dismiss', effect: 'Removes dead letters for good.', danger: true },
    {
      action: 'delete',
      label: 'Delete',
      effect: 'Hides runs: lists omit them, and no worker takes them.',
      danger: true,
    },
  ],
}

export function choiceOf(target: Target, action: Action): Choice {
  return CHOICES[target].find((choice) => choice.action === action) ?? (CHOICES[target][0] as Choice)
}

export interface Order {
  readonly action: Action
  readonly target: Target
  readonly query: string
  /** Items per minute; null: no limit. */
  readonly rate: number | null
  readonly reason: string
  /** Of a pause. */
  readonly timeouts: 'stop' | 'run'
  /** The query finds everything, and that is meant. */
  readonly everything: boolean
}

/** The body of POST /v1/operations. */
export function bodyOf({ action, target, query, rate, reason, timeouts, everything }: Order) {
  return {
    action,
    target,
    q: query,
    ...(rate === null ? {} : { rate_per_minute: rate }),
    ...(reason === '' ? {} : { reason }),
    ...(action === 'pause' ? { timeouts } : {}),
    ...(everything ? { confirm: 'everything' as const } : {}),
  }
}

/** `quoted`: for a shell. */
export function commandOf(order: Order, quoted: (text: string) => string): string {
  const { action, target, query, rate, reason, timeouts, everything } = order
  const isUsual = action === 'redrive' || action === 'dismiss'
  const text = query === '' ? "''" : quoted(query)
  // After `--` a query may begin with a minus.
  const isLast = query.startsWith('-')
  return [
    'petrel bulk',
    action.replace('_', '-'),
    ...(isLast ? [] : [text]),
    ...(target === 'runs' && !isUsual ? ['--runs'] : []),
    ...(rate === null ? [] : ['--rate', String(rate)]),
    ...(reason === '' ? [] : ['--reason', quoted(reason)]),
    ...(action === 'pause' && timeouts === 'run' ? ['--timeouts run'] : []),
    ...(everything ? ['--confirm everything'] : []),
    '--yes',
    ...(isLast ? ['--', text] : []),
  ].join(' ')
}

/** null: no limit. undefined: not a rate. */
export function rateOf(text: string): number | null | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const rate = Number(trimmed)
  return /^\d+$/.test(trimmed) && rate >= 1 && rate <= MOST_PER_MINUTE ? rate : undefined
}

const MOST_PER_MINUTE = 60_000

/** As the server would say it. */
export function notARate(): AnswerError {
  const message = 'The rate is a whole number from 1 to 60,000, or empty for no limit.'
  return new AnswerError(400, { code: 'invalid_request', message })
}
