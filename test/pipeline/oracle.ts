/**
 * A second implementation of pipelines: a loop over tasks with all state in variables, written from the notation's
 * rules and not from the machine. It supports only the conditions and replies that the generator produces.
 */

export type Answer = 'ok' | 'error' | 'crash'
export type Condition =
  | 'always'
  | 'ok'
  | 'error'
  | { readonly attempt: number }
  | { readonly counterBelow: number }
  | 'wrong'

export interface ToyRule {
  readonly when: Condition
  readonly do: 'continue' | 'retry' | 'jump' | 'break' | 'fail'
  readonly attempts: number
  readonly backoff: 'none' | 'linear' | 'exponential'
  readonly delay: number
  /** Index of a task, or 'previous'. */
  readonly to: number | 'previous'
  /** Adds one to the counter. */
  readonly counts: boolean
}

export interface ToyTask {
  /** Outcomes of its attempts, in order, repeated cyclically. */
  readonly answers: readonly Answer[]
  readonly rules: readonly ToyRule[]
  readonly unmatched: 'fail' | 'continue'
  /** Adds ten to the counter when it ended well and is left. */
  readonly marks: boolean
}

export interface Foretold {
  /** `task#attempt`, in order. */
  readonly tries: readonly string[]
  readonly rests: readonly number[]
  readonly end: 'done' | 'failed'
  /** Done: number of the attempt with the result (0: none). Failed: the kind of error. */
  readonly with: number | string
  readonly counter: number
}

export function foretell(tasks: readonly ToyTask[], most: number): Foretold {
  const tries: string[] = []
  const rests: number[] = []
  const asked = tasks.map(() => 0)
  let counter = 0
  let result = 0
  let at = 0
  let attempt = 1
  const ended = (end: Foretold['end'], what: number | string): Foretold => ({ tries, rests, end, with: what, counter })

  while (at < tasks.length) {
    if (tries.length === most) return ended('failed', 'unknown')
    const { answers, rules, unmatched, marks } = tasks[at]!
    const answer = answers[asked[at]! % answers.length]!
    asked[at]!++
    tries.push(`${at}#${attempt}`)
    const number = tries.length
    const good = answer === 'ok'
    const kind = answer === 'crash' ? 'unknown' : 'server_error'

    let chosen: ToyRule | null = null
    for (const rule of rules) {
      if (rule.when === 'wrong') return ended('failed', 'transform')
      if (!holds(rule.when)) continue
      chosen = rule
      break
    }

    const does = chosen?.do ?? (good || (rules.length > 0 && unmatched === 'continue') ? 'continue' : 'fail')
    const leaves = does === 'continue' || does === 'jump' || does === 'break'
    // Both are rendered against the old counter: of two that write it, the rule's value stays.
    const before = counter
    if (good && leaves && marks) counter = before + 10
    if (chosen?.counts) counter = before + 1

    if (does === 'fail') return ended('failed', good ? 'unknown' : kind)
    if (does === 'retry') {
      if (attempt >= chosen!.attempts) return ended('failed', good ? 'unknown' : kind)
      const { backoff, delay } = chosen!
      rests.push(backoff === 'none' ? delay : backoff === 'linear' ? delay * attempt : delay * 2 ** (attempt - 1))
      attempt++
      continue
    }
    const goal = does === 'jump' ? (chosen!.to === 'previous' ? at - 1 : chosen!.to) : at + 1
    if (goal < 0) return ended('failed', 'transform')
    if (good) result = number
    if (does === 'break') return ended('done', result)
    at = goal
    attempt = 1

    function holds(when: Condition): boolean {
      if (when === 'always') return true
      if (when === 'ok') return good
      if (when === 'error') return !good
      if (typeof when === 'object' && 'attempt' in when) return attempt === when.attempt
      return typeof when === 'object' && counter < when.counterBelow
    }
  }
  return ended('done', result)
}
