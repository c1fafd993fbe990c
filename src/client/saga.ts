/** Sagas in TypeScript: steps with functions that build their commands. */

import { PetrelError } from '../kernel/errors.ts'
import type { Json } from '../net/net.ts'
import { API_VERSION } from '../notations/saga/compile/saga.ts'
import type { Builders } from '../notations/saga/runtime/builders.ts'
import { codeType } from '../notations/saga/runtime/program.ts'

/**
 * biome-ignore lint/suspicious/noExplicitAny: only the author of the builders knows the types of a service's answers
 */
type Answer = any

export interface SagaStep<Request = Answer> {
  readonly name: string
  /** `{service}.v1.{resource}.{action}` */
  readonly subject: string
  /** Left out: nothing is undone. */
  readonly compensationSubject?: string
  /** Body of the command, from the request and the results of the steps before, by name. */
  readonly buildCommand: (request: Request, results: { readonly [step: string]: Answer }) => unknown
  /** Body of the compensation, from the command as it was sent and the service's answer. Left out: the answer. */
  readonly buildCompensation?: (command: Answer, result: Answer) => unknown
  /** Left out everywhere: each step waits for the one before it. */
  readonly dependsOn?: readonly string[]
  /** How long it may stay unanswered. Default 15 minutes. */
  readonly deadlineMs?: number
  /** When an unanswered command is sent again. Default 30 seconds. */
  readonly resendMs?: number
  /** stop: it is unknown whether it was done, so an operator decides. compensate: undone as if it had been. */
  readonly onSilence?: 'stop' | 'compensate'
  /** Failures that are answered by sending the command again. Default none. */
  readonly retry?: { readonly max: number; readonly delayMs?: number; readonly maxDelayMs?: number }
}

export interface SagaOptions<Request = Answer> {
  readonly name: string
  /** Instances keep the version they began with. Default '1'. */
  readonly version?: string
  readonly description?: string
  /** compensate: completed steps are undone. stop: they stay, and an operator resumes at the failed step. */
  readonly onFailure?: 'compensate' | 'stop'
  readonly timeoutMs?: number
  readonly steps: readonly SagaStep<Request>[]
}

export interface Saga<Request = Answer> {
  readonly name: string
  readonly version: string
  /** Its shape, in the notation of files: the text that is deployed, and compared when it is deployed again. */
  readonly text: string
  /** Type of its runs. */
  readonly type: string
  readonly builders: Builders
  readonly request?: Request
}

export function saga<Request = Answer>(options: SagaOptions<Request>): Saga<Request> {
  const { name, version = '1', description, onFailure, timeoutMs, steps } = options
  const byName = new Map(steps.map((step) => [step.name, step]))
  const spec = {
    build: 'code',
    ...given('onFailure', onFailure),
    ...given('timeout', timeoutMs),
    steps: steps.map((step) => ({
      name: step.name,
      command: { subject: step.subject, ...pace(step), ...retries(step) },
      ...(step.compensationSubject === undefined
        ? {}
        : { compensation: { subject: step.compensationSubject, ...pace(step) } }),
      ...given('dependsOn', step.dependsOn),
      ...given('onSilence', step.onSilence),
    })),
  }
  const metadata = { name, version, ...given('description', description) }
  const find = (step: string): SagaStep<Request> => {
    const found = byName.get(step)
    if (found !== undefined) return found
    throw new PetrelError('engine_error', `saga '${name}' version ${version} has no step '${step}' in this process`)
  }
  return {
    name,
    version,
    text: JSON.stringify({ apiVersion: API_VERSION, kind: 'Saga', metadata, spec }, null, 2),
    type: codeType(name, version),
    builders: {
      command: ({ step }, { request, results }) => find(step).buildCommand(request as Request, results),
      compensation: ({ step }, { command, result }) => {
        const build = find(step).buildCompensation
        return build === undefined ? result : build(command, result)
      },
    },
  }
}

function pace({ deadlineMs, resendMs }: SagaStep<never>): { readonly [key: string]: Json } {
  return { ...given('deadline', deadlineMs), ...given('resend', resendMs) }
}

function retries({ retry }: SagaStep<never>): { readonly [key: string]: Json } {
  if (retry === undefined) return {}
  const { max, delayMs, maxDelayMs } = retry
  return { retry: { max, ...given('delay', delayMs), ...given('maxDelay', maxDelayMs) } }
}

function given<T>(key: string, value: T | undefined): { readonly [key: string]: T } {
  return value === undefined ? {} : { [key]: value }
}
