/**
 * A command may come more than once; its effect must not. The step id is stored in the transaction that has the effect,
 * so both exist or neither; the answer is stored with it, to be repeated. A failure leaves no key: the command may come
 * again, which is another try.
 */

import type { StepLogLine } from '../completion.ts'

/** The answer to a step. `accepted`: the work continues elsewhere, and its answer comes later. */
export interface StepAnswer {
  readonly outcome: 'completed' | 'completed_with_warnings' | 'accepted'
  readonly result: unknown
  readonly log: readonly StepLogLine[]
}

export interface Once {
  readonly answer: StepAnswer
  /** true: it had been done before; `effect` was not called. */
  readonly repeated: boolean
}

/** `Tx` is the transaction that an effect works with: a client in a transaction, a database in one. */
export interface StepKeys<Tx> {
  /**
   * Calls `effect` unless this step is done; of several concurrent calls one does it, the others wait for it and get
   * its answer. An effect that throws is rolled back, and the error is thrown as EffectFailed; any other error is
   * thrown as it is: the outcome is then unknown, and the next call finds out.
   */
  once(stepId: string, effect: (tx: Tx) => StepAnswer | Promise<StepAnswer>): Promise<Once>
  /** The final answer of accepted work; null: it failed, and leaves no key. */
  answer(stepId: string, answer: StepAnswer | null): Promise<void>
}

export class EffectFailed extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'EffectFailed'
  }
}

export const DEFAULT_TABLE = 'petrel_step'

const TABLE = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$/

export function checkTable(table: string): string {
  if (!TABLE.test(table)) throw new TypeError(`'${table}' is not the name of a table`)
  return table
}

export function answerFrom(text: unknown): StepAnswer {
  return JSON.parse(text as string) as StepAnswer
}
