/** The builders of message bodies: code that a process registered, or templates of the definition. */
import { newEvaluator } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'
import type { SagaProgram } from './program.ts'

export type Results = { readonly [step: string]: Json }

/** The input for a command. */
export interface Forward {
  readonly request: Json
  readonly results: Results
}

/** The input for a compensation: also the command as it was stored, and the service's answer. */
export interface Backward extends Forward {
  readonly command: Json
  readonly result: Json
}

export interface Builders {
  command(program: SagaProgram, given: Forward): unknown
  compensation(program: SagaProgram, given: Backward): unknown
}

/** Without a template the command is the request, and the compensation is the service's answer. */
export function templateBuilders(): Builders {
  const evaluator = newEvaluator()
  const render = (body: Json, given: object): Json => evaluator.at(Date.now()).render(body, given as Results)
  return {
    command: ({ body }, given) => (body === undefined ? given.request : render(body, given)),
    compensation: ({ body }, given) => (body === undefined ? given.result : render(body, given)),
  }
}
