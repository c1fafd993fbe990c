/**
 * The names in bodies: the request and results of steps that have ended by then. Any other name would silently be null.
 */
import { newEvaluator } from '../../../expr/index.ts'
import type { Evaluate } from '../../../net/facts.ts'
import { Ancestors } from '../../source/dependencies.ts'
import type { Path } from '../../source/mistakes.ts'
import { closest, type Reader } from '../../source/reader.ts'
import { orderOf } from './order.ts'
import type { Message, Saga } from './saga.ts'

/** Assumes that the steps are known, and none waits for itself. */
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
