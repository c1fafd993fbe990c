/**
 * How a pipeline moves: a function of (state, happening) to (state, effect), without clock, tools or store.
 *
 *              ┌──────── jump, continue ────────┐
 *   begin ──►  run ── ended ──► judged ─────────┤
 *              ▲                  │             ├─► done    after the last task; break
 *              └── rested ◄── rest┘ retry       └─► failed  fail; tries used up; something that cannot be evaluated
 *
 * run     The effect requests one try of the task `state.at`. Tasks are executed in the order they are written. The
 * reply
 *         is `ended` with the outcome, or `broken`: the task could not even be requested (a template, an unknown kind),
 *         which no rule can handle.
 * judged  The first rule that holds decides; a rule without a condition always holds. Without rules, or if none holds:
 * ok
 *         continues, an error fails (or continues, by `onUnmatched`). A condition that cannot be evaluated fails the
 *         pipeline.
 * set     What the task sets, if it succeeded and is left, then what the rule sets; all of it rendered against the
 * state
 *         at the start of the task and the new outcome, so that no value depends on the order of the lines, and written
 *         before anything else happens. A failed pipeline keeps what it has set.
 * left    By continue, jump or break a visit of the task is over. If it succeeded, its result is `_prev` and the result
 *         under its label from then on; after an error both stay as they were.
 * retry   The same visit again, after a rest. `attempts` counts all tries of a visit; when they are used up the
 * pipeline
 *         fails with the last error. The count belongs to the visit: a task that is the target of a hundred jumps has
 *         its tries each time.
 * break   Done, as after the last task. The result is `_prev`.
 *
 * The number of tries in a pipeline is limited: a jump that never ends becomes a failure with a name.
 */
import type { Json } from '../../../net/net.ts'
import type { ToolError } from '../../../tools/tool.ts'
import { delayMs } from './delay.ts'
import { type Outcome, ownError, type StepError } from './outcome.ts'
import type { Program, Rule, Task } from './program.ts'
import type { State } from './state.ts'

export type Happening =
  | { readonly kind: 'begin' }
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'broken'; readonly error: ToolError }
  | { readonly kind: 'rested' }

export type Effect =
  | { readonly kind: 'run' }
  | { readonly kind: 'rest'; readonly ms: number }
  | { readonly kind: 'done'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: StepError }

/** What was decided about an outcome. `rule`: its index; null: none matched. */
export interface Verdict {
  readonly rule: number | null
  readonly do: Rule['do']
  readonly to?: string
}

export interface Move {
  readonly state: State
  readonly effect: Effect
  /** null: there was no decision to make. */
  readonly verdict: Verdict | null
}

/**
 * Evaluates the author's templates and conditions for the task that was tried; throws if that is impossible. `state` is
 * the one at the start of the task, `rule` the index of one of its rules, `next` the state to write into.
 */
export interface Judge {
  holds(rule: number, state: State, outcome: Outcome): boolean
  taskSet(state: State, outcome: Outcome, next: State): State
  ruleSet(rule: number, state: State, outcome: Outcome, next: State): State
  delayS(rule: number, state: State, outcome: Outcome): number
}

export interface Machine {
  readonly program: Program
  readonly judge: Judge
  readonly mostExecutions: number
}

export function move(machine: Machine, state: State, happening: Happening): Move {
  switch (happening.kind) {
    case 'begin':
      return machine.program.tasks.length === 0 ? done(state, null) : visit(machine, state, 0, null)
    case 'rested':
      return tryOnce(machine, state, null)
    case 'broken':
      return failed(state, { task: taskAt(machine, state).label, error: happening.error, outcome: null }, null)
    case 'ended':
      return new Decision(machine, state, happening.outcome).move()
  }
}

/** One outcome being judged. */
class Decision {
  readonly #machine: Machine
  /** At the start of the task. */
  readonly #state: State
  readonly #outcome: Outcome
  readonly #task: Task
  /** The state including what has been set. */
  #next: State

  constructor(machine: Machine, state: State, outcome: Outcome) {
    this.#machine = machine
    this.#state = state
    this.#outcome = outcome
    this.#task = taskAt(machine, state)
    this.#next = state
  }

  move(): Move {
    let verdict: Verdict | null = null
    try {
      verdict = this.#verdict()
      return this.#act(verdict)
    } catch (problem) {
      if (!(problem instanceof Unevaluable)) throw problem
      const error = ownError('transform', problem.code, `${this.#name()}: ${problem.message}`)
      return failed(this.#next, { task: this.#task.label, error, outcome: this.#outcome }, verdict)
    }
  }

  #verdict(): Verdict {
    for (const [index, rule] of this.#task.rules.entries()) {
      const holds = this.#evaluate('RULE_ERROR', `rule ${index + 1} (line ${rule.line}) cannot be evaluated`, () =>
        this.#machine.judge.holds(index, this.#state, this.#outcome),
      )
      if (!holds) continue
      return { rule: index, do: rule.do, ...(rule.do === 'jump' && rule.to !== null && { to: rule.to }) }
    }
    const goesOn =
      this.#outcome.status === 'ok' || (this.#task.rules.length > 0 && this.#task.onUnmatched === 'continue')
    return { rule: null, do: goesOn ? 'continue' : 'fail' }
  }

  #act(verdict: Verdict): Move {
    const rule = verdict.rule === null ? null : this.#task.rules[verdict.rule]!
    const set = this.#assigned(verdict)
    this.#next = set
    const { tasks } = this.#machine.program
    switch (verdict.do) {
      case 'continue': {
        const left = this.#left(set)
        return set.at + 1 < tasks.length
          ? visit(this.#machine, left, set.at + 1, verdict)
          : done(left, left.prev, verdict)
      }
      case 'break': {
        const left = this.#left(set)
        return done(left, left.prev, verdict)
      }
      case 'jump':
        return visit(this.#machine, this.#left(set), this.#target(rule!), verdict)
      case 'retry':
        return this.#retry(set, rule!, verdict)
      case 'fail':
        return failed(set, this.#failure(rule), verdict)
    }
  }

  #retry(set: State, rule: Rule, verdict: Verdict): Move {
    if (set.attempt >= rule.attempts) return failed(set, this.#failure(rule), verdict)
    const delayS = this.#evaluate('RULE_ERROR', `the delay of the rule on line ${rule.line} cannot be evaluated`, () =>
      this.#machine.judge.delayS(verdict.rule!, this.#state, this.#outcome),
    )
    const ms = delayMs(rule.backoff, delayS, set.attempt)
    return { state: { ...set, attempt: set.attempt + 1 }, effect: { kind: 'rest', ms }, verdict }
  }

  #assigned(verdict: Verdict): State {
    const { judge } = this.#machine
    const isLeft = verdict.do !== 'retry' && verdict.do !== 'fail'
    let next = this.#state
    if (isLeft && this.#outcome.status === 'ok' && this.#task.set !== null) {
      next = this.#evaluate('SET_ERROR', 'its set cannot be evaluated', () =>
        judge.taskSet(this.#state, this.#outcome, next),
      )
    }
    const { rule } = verdict
    if (rule === null || this.#task.rules[rule]!.set === null) return next
    const { line } = this.#task.rules[rule]!
    return this.#evaluate('SET_ERROR', `the set of rule ${rule + 1} (line ${line}) cannot be evaluated`, () =>
      judge.ruleSet(rule, this.#state, this.#outcome, next),
    )
  }

  #left(state: State): State {
    if (this.#outcome.status !== 'ok') return state
    const { result } = this.#outcome
    return { ...state, prev: result, results: { ...state.results, [this.#task.label]: result } }
  }

  #target({ to, line }: Rule): number {
    const { tasks } = this.#machine.program
    const target = to === 'previous' ? this.#state.at - 1 : tasks.findIndex(({ label }) => label === to)
    if (target >= 0) return target
    const where = to === 'previous' ? 'there is no task before it' : `the step has no task '${to}'`
    throw new Unevaluable('JUMP_ERROR', `the rule on line ${line} jumps to '${to}', but ${where}`)
  }

  /**
   * The outcome's own error. A rule may also fail a task that succeeded, or retry it until its attempts are used up.
   */
  #failure(rule: Rule | null): StepError {
    const { label } = this.#task
    const { error, status } = this.#outcome
    if (status === 'error' && error !== null) return { task: label, error, outcome: this.#outcome }
    const [code, what] =
      rule?.do === 'retry'
        ? [
            'ATTEMPTS_USED_UP',
            `was tried ${this.#state.attempt} times, and the rule on line ${rule.line} asks for more`,
          ]
        : ['FAILED_BY_RULE', `ended well, and the rule on line ${rule?.line ?? this.#task.line} fails it`]
    return { task: label, error: ownError('unknown', code!, `task '${label}' ${what}`), outcome: this.#outcome }
  }

  #name(): string {
    return `task '${this.#task.label}' (line ${this.#task.line})`
  }

  #evaluate<T>(code: string, what: string, act: () => T): T {
    try {
      return act()
    } catch (problem) {
      throw new Unevaluable(code, `${what}: ${problem instanceof Error ? problem.message : String(problem)}`)
    }
  }
}

class Unevaluable extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

function visit(machine: Machine, state: State, at: number, verdict: Verdict | null): Move {
  const { label } = machine.program.tasks[at]!
  const before = Object.hasOwn(state.visits, label) ? state.visits[label]! : 0
  const visits = { ...state.visits, [label]: before + 1 }
  return tryOnce(machine, { ...state, at, attempt: 1, visit: state.visit + 1, visits }, verdict)
}

function tryOnce(machine: Machine, state: State, verdict: Verdict | null): Move {
  const { mostExecutions } = machine
  if (state.executions >= mostExecutions) {
    const { label, line } = taskAt(machine, state)
    const message = `the step has tried tasks ${mostExecutions} times, most lately '${label}' (line ${line}): a jump in it has no end`
    return failed(state, { task: label, error: ownError('unknown', 'TOO_MANY_TASKS', message), outcome: null }, verdict)
  }
  return { state: { ...state, executions: state.executions + 1 }, effect: { kind: 'run' }, verdict }
}

function done(state: State, result: Json, verdict: Verdict | null = null): Move {
  return { state, effect: { kind: 'done', result }, verdict }
}

function failed(state: State, error: StepError, verdict: Verdict | null): Move {
  return { state, effect: { kind: 'failed', error }, verdict }
}

function taskAt(machine: Machine, state: State): Task {
  return machine.program.tasks[state.at]!
}
