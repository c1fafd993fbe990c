/**
 * A saga as a net. A step is a node whose run builds a command and is then deferred until the service answers; its undo
 * is another such run. An answered failure is not retried unless the step is configured to; the death of a process
 * that builds a command is.
 */
import type { Arc, Json, Net, Node, RunWork, Timeout, Undo } from '../../../net/net.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { codeType, SAGA_QUEUE, type SagaProgram, TEMPLATE_TYPE } from '../runtime/program.ts'
import { orderOf } from './order.ts'
import type { Message, Saga, Step } from './saga.ts'

/** How many processes may die one after the other while they build the same command. */
const MOST_DEATHS = 20

export function compileSaga(saga: Saga): Net {
  const order = orderOf(saga)
  const arcs = new Map<string, Arc[]>(order.map(({ name }) => [name, []]))
  for (const { name, dependsOn } of order) {
    for (const before of dependsOn) arcs.get(before)?.push({ to: name, when: null, args: null, set: null })
  }
  const type = saga.build === 'code' ? codeType(saga.name, saga.version) : TEMPLATE_TYPE
  return {
    version: 1,
    name: saga.name,
    dialect: 'saga',
    nodes: saga.steps.map(
      (step, i): Node => ({
        key: step.name,
        work: workOf(step.command, step, type, '{{ input }}'),
        join: (order[i]?.dependsOn.length ?? 0) > 1 ? 'count' : 'each',
        admit: null,
        retry: retryOf(step.command),
        timeout: clockOf(step.command),
        onFailure: 'net',
        undo: step.compensation === null ? null : undoOf(step.compensation, step, type),
        next: { mode: 'every', arcs: arcs.get(step.name) ?? [], scope: null },
        ...(step.onSilence === 'compensate' ? { unknown: 'undo' as const } : {}),
      }),
    ),
    entry: order.filter(({ dependsOn }) => dependsOn.length === 0).map(({ name }) => name),
    finals: [],
    onFailure: saga.onFailure === 'stop' ? 'abort' : 'compensate',
    verdict: { failedOn: 'unhandled', partial: false },
    unknown: 'stop',
    timeoutMs: saga.timeoutMs,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
  }
}

function workOf(message: Message, { name }: Step, type: string, args: Json): RunWork {
  const { subject, resendMs, body } = message
  const program: SagaProgram = { step: name, subject, resendMs, ...(body === undefined ? {} : { body }) }
  const json = program as { readonly [key: string]: Json }
  return { kind: 'run', type, queue: SAGA_QUEUE, priority: 100, delayMs: 0, args, limitKey: null, program: json }
}

function undoOf(message: Message, step: Step, type: string): Undo {
  const args = { request: '{{ input }}', result: `{{ results['${step.name}'] }}` }
  return { work: workOf(message, step, type, args), retry: retryOf(message), timeout: clockOf(message) }
}

function clockOf({ deadlineMs }: Message): Timeout {
  return { ms: deadlineMs, per: 'attempt' }
}

function retryOf({ retries }: Message): Retry {
  return {
    maxAttempts: retries.max === 0 ? MOST_DEATHS : retries.max + 1,
    backoff: 'exponential',
    initialMs: retries.delayMs,
    coefficient: 2,
    maxMs: retries.maxDelayMs,
    jitter: 0.1,
    nonRetryable: [],
    // A service's answer has no category, which counts as `agent`.
    retryOn: retries.max === 0 ? ['transient'] : ['transient', 'agent'],
    deadLetter: false,
  }
}
