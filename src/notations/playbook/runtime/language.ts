/** The author's templates and conditions, compiled once per program and evaluated for one run of it. */
import {
  compileExpression,
  compileTemplate,
  type Expression,
  render,
  type Template,
  truthy,
} from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'
import { assign } from './assign.ts'
import type { Judge } from './machine.ts'
import type { Outcome } from './outcome.ts'
import type { Program } from './program.ts'
import { contextOf, type Given, type Moment, TaskScope } from './scope.ts'
import type { Fields, State } from './state.ts'

/** More than the engine allows in a transaction: a worker's template may print a whole result into a statement. */
const BUDGET = { steps: 50_000, bytes: 8 * 1024 * 1024 }

/** Compiled when it is first needed: a mistake in a task that is never reached has no effect. */
class Compiled<T> {
  readonly #make: () => T
  #made: T | undefined

  constructor(make: () => T) {
    this.#make = make
  }

  get(): T {
    this.#made ??= this.#make()
    return this.#made
  }
}

interface CompiledTask {
  readonly config: Compiled<Template>
  /** Fields that the tool receives unrendered. */
  readonly verbatim: Fields
  readonly input: Compiled<Template>
  readonly set: Compiled<Template>
  readonly rules: readonly CompiledRule[]
}

interface CompiledRule {
  readonly when: Compiled<Expression> | null
  readonly set: Compiled<Template>
  readonly delayS: Compiled<Template>
}

export interface CompiledProgram {
  readonly input: Compiled<Template>
  readonly tasks: readonly CompiledTask[]
}

/** `verbatim`: the fields that tools of a kind receive unrendered. */
export function compileProgram(program: Program, verbatim: (kind: string) => readonly string[]): CompiledProgram {
  const template = (value: Json | null) => new Compiled(() => compileTemplate(value ?? {}))
  return {
    input: template(program.input),
    tasks: program.tasks.map(({ kind, config, input, set, rules }) => ({
      ...split(config, verbatim(kind), template),
      input: template(input),
      set: template(set),
      rules: rules.map(({ when, set: ruleSet, delayS }) => ({
        when: when === null ? null : new Compiled(() => compileExpression(when)),
        set: template(ruleSet),
        delayS: template(delayS),
      })),
    })),
  }
}

function split(config: Fields, names: readonly string[], template: (value: Json) => Compiled<Template>) {
  const fields = Object.entries(config)
  const isVerbatim = ([name]: readonly [string, Json]) => names.includes(name)
  return {
    config: template(Object.fromEntries(fields.filter((field) => !isVerbatim(field)))),
    verbatim: Object.fromEntries(fields.filter(isVerbatim)),
  }
}

export class Language implements Judge {
  readonly #given: Given
  readonly #compiled: CompiledProgram

  constructor(given: Given, compiled: CompiledProgram) {
    this.#given = given
    this.#compiled = compiled
  }

  /** The own input of the task being tried, and its tool's fields. */
  call(state: State, keychain: Fields): { readonly input: Fields; readonly config: Fields } {
    const { input, config, verbatim } = this.#compiled.tasks[state.at]!
    const moment = { state, task: this.#label(state), keychain }
    const own = this.#render(input.get(), moment) as Fields
    const rendered = this.#render(config.get(), { ...moment, own }) as Fields
    return { input: own, config: { ...rendered, ...verbatim } }
  }

  holds(rule: number, state: State, outcome: Outcome): boolean {
    const { when } = this.#rule(rule, state)
    if (when === null) return true
    const scope = new TaskScope(this.#given, this.#judging(state, outcome, 'envelope'))
    return truthy(when.get(), scope, BUDGET)
  }

  ruleSet(rule: number, state: State, outcome: Outcome, next: State): State {
    return this.#assigned(this.#rule(rule, state).set.get(), this.#judging(state, outcome, 'envelope'), next)
  }

  taskSet(state: State, outcome: Outcome, next: State): State {
    return this.#assigned(this.#compiled.tasks[state.at]!.set.get(), this.#judging(state, outcome, 'raw'), next)
  }

  delayS(rule: number, state: State, outcome: Outcome): number {
    const value = this.#render(this.#rule(rule, state).delayS.get(), this.#judging(state, outcome, 'envelope'))
    if (typeof value === 'number' && value >= 0) return value
    const shown =
      typeof value === 'string'
        ? `the text '${value.slice(0, 80)}': convert it, as in \`| float\``
        : JSON.stringify(value)
    throw new Error(`a delay is a number of seconds from 0, not ${shown}`)
  }

  #rule(rule: number, { at }: State): CompiledRule {
    return this.#compiled.tasks[at]!.rules[rule]!
  }

  #judging(state: State, outcome: Outcome, as: 'envelope' | 'raw'): Moment {
    return { state, task: this.#label(state), outcome: { of: outcome, as } }
  }

  #label({ at }: State): string {
    return this.#given.program.tasks[at]!.label
  }

  #assigned(template: Template, moment: Moment, next: State): State {
    return assign(next, this.#render(template, moment) as Fields, contextOf(this.#given, next))
  }

  #render(template: Template, moment: Moment): Json {
    return render(template, new TaskScope(this.#given, moment), BUDGET)
  }
}

/** The step's own input, rendered before its first task. */
export function renderStepInput(compiled: CompiledProgram, given: Given, state: State): Fields {
  return render(compiled.input.get(), new TaskScope(given, { state, task: null }), BUDGET) as Fields
}
