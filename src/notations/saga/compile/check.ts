/** Checks that concern several parts: names used twice, unknown steps, cycles. */

import { newEvaluator } from '../../../expr/index.ts'
import type { Path } from '../../../kernel/reading/mistakes.ts'
import { closest } from '../../../kernel/reading/part.ts'
import type { Evaluate } from '../../../net/facts.ts'
import { Ancestors, findStuck } from '../../source/dependencies.ts'
import type { Reader } from '../../source/reader.ts'
import { orderOf } from './order.ts'
import type { Message, Saga } from './saga.ts'

/** The net stores a mark for each step, and longer sagas cannot be read by people. */
const MOST_STEPS = 1000

export function checkSaga(saga: Saga, reader: Reader): void {
  const { steps } = saga
  if (steps.length > MOST_STEPS) {
    const message = `${steps.length} steps are too many: at most ${MOST_STEPS}`
    reader.note({ path: ['spec', 'steps'], message, hint: 'start another saga from one of them' })
  }
  const seen = new Set<string>()
  for (const { name, path } of steps) {
    if (name !== '' && seen.has(name)) {
      reader.note({
        path: [...path, 'name'],
        message: `two steps are called '${name}'`,
        hint: 'results are found by name',
      })
    }
    seen.add(name)
  }
  for (const { onSilence, path } of steps) {
    if (saga.onFailure === 'compensate' || onSilence === 'stop') continue
    const message = 'this saga stops where it fails: no step is ever undone'
    reader.note({ path: [...path, 'onSilence'], message, hint: 'leave it out, or onFailure: compensate for the saga' })
  }
  for (const { name, dependsOn, path } of steps) {
    for (const [i, other] of (dependsOn ?? []).entries()) {
      if (seen.has(other) && other !== name) continue
      const near = closest(other, [...seen])
      const message = other === name ? `'${name}' waits for itself` : `there is no step '${other}'`
      reader.note({
        path: [...path, 'dependsOn', i],
        message,
        hint: near === null || other === name ? null : `did you mean '${near}'?`,
      })
    }
  }
  if (!reader.clean) return
  for (const cycle of findStuck(orderOf(saga)).cycles) {
    const at = steps.find((step) => step.name === cycle[0])
    const message = `these steps wait for each other: ${cycle.join(' → ')}`
    reader.note({ path: [...(at?.path ?? []), 'dependsOn'], message, hint: 'remove one of these dependencies' })
  }
}

/**
 * The names in bodies: the request and results of steps that have ended by then. Any other name would silently be null.
 * Assumes that the steps are known and none waits for itself.
 */
export function checkTemplates(saga: Saga, reader: Reader): void {
  const evaluate = newEvaluator()
  const ancestors = new Ancestors(orderOf(saga))
  for (const { name, command, compensation } of saga.steps) {
    const before = ancestors.of(name)
    checkBody(command, ['request', 'results'], before, evaluate, reader)
    if (compensation !== null) {
      const names = ['request', 'results', 'command', 'result']
      checkBody(compensation, names, [...before, name], evaluate, reader)
    }
  }
}

function checkBody(
  { body, path }: Message,
  names: readonly string[],
  ended: readonly string[],
  evaluate: Evaluate,
  reader: Reader,
): void {
  if (body === undefined) return
  const at: Path = [...path, 'body']
  const hint = `names: ${names.join(', ')}; results of: ${ended.length === 0 ? 'none' : ended.join(', ')}`
  for (const [root, key] of namesOf()) {
    if (!names.includes(root)) {
      const near = closest(root, names)
      reader.note({
        path: at,
        message: `there is no '${root}' here`,
        hint: near === null ? hint : `did you mean '${near}'?`,
      })
    } else if (root === 'results' && key !== undefined && !ended.includes(key)) {
      const near = closest(key, ended)
      const message = `step '${key}' has not ended by then, or does not exist`
      reader.note({ path: at, message, hint: near === null ? hint : `did you mean '${near}'?` })
    }
  }

  function namesOf(): readonly (readonly [string, string?])[] {
    try {
      return evaluate.templateNames(body ?? null) as readonly (readonly [string, string?])[]
    } catch (error) {
      reader.note({ path: at, message: (error as Error).message, hint: 'an expression as in {{ request.name }}' })
      return []
    }
  }
}
