/** A task: a type of work with its handler, from which the builders take the types of arguments and results. */
import type { Context, Deferred } from '../worker/context.ts'
import type { Later } from '../worker/later.ts'

/** The context of a task that takes `Previous` from the step before it. */
export type StepContext<Previous = unknown> = Context<Previous>

/** A result as the next step reads it, after it was stored as JSON: a Date is text, undefined is null. */
export type Stored<T> = 0 extends 1 & T
  ? T // any
  : unknown extends T
    ? T
    : T extends string | number | boolean | null
      ? T
      : T extends undefined
        ? null
        : T extends { toJSON(...args: never[]): infer J }
          ? Stored<J>
          : T extends object
            ? { [K in keyof T]: Stored<T[K]> }
            : never

/** The result type for callers that wait for it. */
export type ResultOf<Returned> = Given<Awaited<Returned>>

/** A handler that continues later has no result yet. */
type Given<R> =
  R extends Deferred<infer Result> ? Stored<Result> : R extends Later ? never : R extends void ? null : Stored<R>

export interface Task<Args = never, Result = unknown, Previous = never> {
  readonly type: string
  readonly handler: (args: Args, ctx: StepContext<Previous>) => unknown
  /** Exists only in the type: the result as it is stored. */
  readonly result?: Result
}

export type AnyTask = Task<never, unknown, never>

/**
 * `task('order.charge', async (args: Order, ctx: StepContext<Validated>) => …)`: may follow only a step that returns a
 * Validated; without an annotation on `ctx` it may follow any.
 */
export function task<Args = unknown, Returned = unknown, Previous = unknown>(
  type: string,
  handler: (args: Args, ctx: StepContext<Previous>) => Returned,
): Task<Args, ResultOf<Returned>, Previous> {
  return Object.freeze({ type, handler })
}
