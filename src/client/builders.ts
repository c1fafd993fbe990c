/**
 * Typed builders of workflows. A step's type contains what it reads from the previous step and what it returns to the
 * next; the compiler refuses steps that do not fit. At run time a step is only a tree, compiled when it is started.
 */

import type { Json } from '../net/net.ts'
import type { JobOptions, Tree } from '../notations/ojs/compile/tree.ts'
import type { Task } from './task.ts'

declare const TAKES: unique symbol
declare const GIVES: unique symbol

/** `Takes`: what it reads of the previous step; unknown: accepts anything. `Gives`: its result. */
export interface Step<Takes = never, Gives = unknown> {
  readonly tree: Tree
  readonly [TAKES]?: (takes: Takes) => void
  readonly [GIVES]?: () => Gives
}

export type AnyStep = Step<never, unknown>

export interface Job<Takes = never, Gives = unknown> extends Step<Takes, Gives> {
  readonly tree: Extract<Tree, { kind: 'job' }>
}

/** What a step reads of the previous one; of several steps: what all of them read. */
export type TakesOf<S> = S extends { readonly [TAKES]?: (takes: infer T) => void } ? T : never
export type GivesOf<S> = S extends { readonly [GIVES]?: () => infer G } ? G : never
type TakesOfAll<S extends readonly AnyStep[]> = [S[number]] extends [{ readonly [TAKES]?: (takes: infer T) => void }]
  ? T
  : never

export type StepOptions = JobOptions

/** `job(task, args, options)`, or by the name of a type that is handled elsewhere: `job<Result>('type', args)`. */
export function job<Args, Result, Previous>(
  task: Task<Args, Result, Previous>,
  ...rest: undefined extends Args ? [args?: Args, options?: StepOptions] : [args: Args, options?: StepOptions]
): Job<Previous, Result>
export function job<Result = unknown>(type: string, args?: unknown, options?: StepOptions): Job<unknown, Result>
export function job(
  task: { readonly type: string } | string,
  args: unknown = null,
  options: StepOptions = {},
): Job<never> {
  return { tree: { kind: 'job', type: typeof task === 'string' ? task : task.type, args: args as Json, options } }
}

/** The compiler's error where a step does not fit the previous one. */
export interface StepMismatch<Given, Taken> {
  readonly 'the step before gives': Given
  readonly 'this step takes': Taken
}

/** Each step, or the mismatch in its place. */
type Linked<S extends readonly AnyStep[]> = S extends readonly [
  infer A extends AnyStep,
  infer B extends AnyStep,
  ...infer Rest extends AnyStep[],
]
  ? readonly [A, ...LinkedRest<GivesOf<A>, readonly [B, ...Rest]>]
  : S
type LinkedRest<Given, S extends readonly AnyStep[]> = S extends readonly [
  infer A extends AnyStep,
  ...infer Rest extends AnyStep[],
]
  ? readonly [Given extends TakesOf<A> ? A : StepMismatch<Given, TakesOf<A>>, ...LinkedRest<GivesOf<A>, Rest>]
  : S

type FirstOf<S extends readonly AnyStep[]> = S extends readonly [infer A extends AnyStep, ...AnyStep[]] ? A : S[number]
type LastOf<S extends readonly AnyStep[]> = S extends readonly [...AnyStep[], infer Z extends AnyStep] ? Z : S[number]

export interface Chain<Takes = never, Gives = unknown> extends Step<Takes, Gives> {
  readonly tree: Extract<Tree, { kind: 'chain' }>
}

/** One step after the other. Its result is that of the last step. */
export function chain<const S extends readonly AnyStep[]>(
  ...steps: S & Linked<S>
): Chain<TakesOf<FirstOf<S>>, GivesOf<LastOf<S>>>
/** For a list made at run time, whose steps cannot be checked against each other. */
export function chain<S extends AnyStep>(steps: readonly S[]): Chain<TakesOf<S>, GivesOf<S>>
export function chain(...given: unknown[]): Chain {
  return { tree: { kind: 'chain', steps: treesOf(given) } }
}

/** Results of a group, by index. */
export type Gathered<S extends readonly AnyStep[]> = { -readonly [K in keyof S]: GivesOf<S[K]> }
/** Results of a batch, by index: null where a job failed. */
export type Partly<S extends readonly AnyStep[]> = { -readonly [K in keyof S]: GivesOf<S[K]> | null }

export interface Group<Takes = never, Gives = unknown> extends Step<Takes, Gives> {
  readonly tree: Extract<Tree, { kind: 'group' }>
}

/** All at once. Its result is the list of their results; it fails, once all have ended, if any failed. */
export function group<const S extends readonly AnyStep[]>(jobs: S): Group<TakesOfAll<S>, Gathered<S>>
export function group<const S extends readonly AnyStep[]>(...jobs: S): Group<TakesOfAll<S>, Gathered<S>>
export function group(...given: unknown[]): Group {
  return { tree: { kind: 'group', jobs: treesOf(given) } }
}

export interface Callbacks<S extends readonly AnyStep[]> {
  /** Runs when all jobs have ended, in whatever way. */
  readonly onComplete?: Step<Partly<S>, unknown>
  /** Runs when all jobs succeeded. */
  readonly onSuccess?: Step<Gathered<S>, unknown>
  /** Runs when all jobs have ended and at least one failed. */
  readonly onFailure?: Step<Partly<S>, unknown>
}

export interface Batch<Takes = never, Gives = unknown> extends Step<Takes, Gives> {
  readonly tree: Extract<Tree, { kind: 'batch' }>
}

/** All at once, then the callbacks that apply; it fails only if a callback does. At least one callback is needed. */
export function batch<const S extends readonly AnyStep[]>(
  jobs: S,
  callbacks: Callbacks<S>,
): Batch<TakesOfAll<S>, Partly<S>> {
  return {
    tree: {
      kind: 'batch',
      jobs: jobs.map((step) => step.tree),
      onComplete: callbacks.onComplete?.tree ?? null,
      onSuccess: callbacks.onSuccess?.tree ?? null,
      onFailure: callbacks.onFailure?.tree ?? null,
    },
  }
}

/** Steps given one by one or as one list. */
function treesOf(given: readonly unknown[]): readonly Tree[] {
  const steps =
    given.length === 1 && Array.isArray(given[0]) ? (given[0] as readonly AnyStep[]) : (given as readonly AnyStep[])
  return steps.map((step) => step.tree)
}
