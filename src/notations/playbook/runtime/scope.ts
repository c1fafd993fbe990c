/**
 * The meaning of the names in a task's templates and rules.
 *
 * Names of the notation come first: workload, ctx, args and input (one map), iter, loop, step, output, outcome,
 * results, execution_id, job, _prev, _task, _attempt, and keychain in the fields of a tool. Any other name is, in this
 * order: a key of the task's own input (in the fields of the tool), the loop's item, the result of a task, of a step,
 * an entry of the context, a key of the workload, a key of the step's input.
 */
import { Alias, type Face, NOW } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'
import { group, iterNames, layers, outcomeOf, outputOf, stepResult } from '../vocabulary/index.ts'
import { envelopeFields, type Outcome } from './outcome.ts'
import type { Program, StepPayload } from './program.ts'
import type { Fields, State } from './state.ts'

/** Constant while the pipeline runs. */
export interface Given {
  readonly program: Program
  readonly payload: StepPayload
  /** The step's input, overridden by the arc's arguments. */
  readonly input: Fields
}

/** What a template may read at one moment. */
export interface Moment {
  readonly state: State
  /** null: before the first task. */
  readonly task: string | null
  /** envelope: in rules; raw: in what a task sets, where `output` is the result itself. */
  readonly outcome?: { readonly of: Outcome; readonly as: 'envelope' | 'raw' }
  /** The task's own input, rendered. */
  readonly own?: Fields
  /** Only when a tool's fields are rendered. */
  readonly keychain?: Fields
}

export class TaskScope extends Alias {
  readonly #given: Given
  readonly #moment: Moment
  /**
   * Created when first read: a loop in a template reads a name many times, and some are assembled from many entries.
   */
  readonly #made = new Map<string, Face>()

  constructor(given: Given, moment: Moment) {
    super()
    this.#given = given
    this.#moment = moment
  }

  get plain(): Json {
    return {}
  }

  key(name: string): Face {
    if (!this.#made.has(name)) this.#made.set(name, this.#make(name))
    return this.#made.get(name)
  }

  #make(name: string): Face {
    const { payload } = this.#given
    const { state, task, own, keychain } = this.#moment
    switch (name) {
      case 'workload':
        return payload.workload
      case 'ctx':
        return layers(contextOf(this.#given, state), payload.workload)
      case 'args':
      case 'input':
        return { ...this.#given.input, ...own }
      case 'iter':
        return { ...this.#item()?.iter, ...state.iter }
      case 'loop':
        return this.#item()?.loop
      case 'step':
        return state.step
      case 'output':
      case 'outcome':
        return this.#outcome(name)
      case 'results':
        return group(mapped(state.results, stepResult), state.results)
      case 'execution_id':
        return payload.execution_id
      case 'job':
        return { uuid: payload.execution_id }
      case '_prev':
        return stepResult(state.prev)
      case '_task':
        return task ?? undefined
      case '_attempt':
        return task === null ? undefined : state.attempt
      case 'keychain':
        return keychain
      case NOW:
        return new Date().toISOString()
      default:
        return this.#bare(name)
    }
  }

  #bare(name: string): Face {
    const { program, payload, input } = this.#given
    const { state, own } = this.#moment
    if (own !== undefined && Object.hasOwn(own, name)) return own[name]
    if (name === program.iterator && payload.item !== undefined) return payload.item.value
    if (Object.hasOwn(state.results, name)) return stepResult(state.results[name]!)
    if (Object.hasOwn(payload.steps, name)) return stepResult(payload.steps[name]!)
    for (const fields of [contextOf(this.#given, state), payload.workload, input]) {
      // An entry set to null is removed: the value below it becomes visible.
      if (Object.hasOwn(fields, name) && fields[name] !== null) return fields[name]
    }
    return Object.hasOwn(payload.workload, name) ? null : undefined
  }

  #item() {
    const { item } = this.#given.payload
    return item === undefined ? undefined : iterNames(this.#given.program.iterator, item)
  }

  #outcome(name: 'output' | 'outcome'): Face {
    const { outcome } = this.#moment
    if (outcome === undefined) return undefined
    if (name === 'outcome') return outcomeOf(envelopeFields(outcome.of, 'result'))
    return outcome.as === 'raw' ? stepResult(outcome.of.result) : outputOf(envelopeFields(outcome.of, 'data'))
  }
}

/** The entries of the context as this pipeline sees them: the given ones, and those it has set since. */
export function contextOf({ payload }: Given, state: State): Fields {
  return { ...payload.ctx, ...payload.item?.ctx, ...state.ctx }
}

/** The context that a tool receives. It contains no secrets. */
export function toolContext(given: Given, { state, task }: Moment): Fields {
  const { program, payload, input } = given
  const names = payload.item === undefined ? null : iterNames(program.iterator, payload.item)
  return {
    ...payload.steps,
    ...state.results,
    execution_id: payload.execution_id,
    step: program.step,
    task,
    attempt: state.attempt,
    workload: payload.workload,
    ctx: { ...payload.workload, ...contextOf(given, state) },
    args: input,
    iter: { ...names?.iter, ...state.iter },
    ...(names !== null && { loop: names.loop }),
    results: { ...payload.steps, ...state.results },
    _prev: state.prev,
  }
}

function mapped(fields: Fields, make: (value: Json) => Face): { readonly [name: string]: Face } {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, make(value)]))
}
