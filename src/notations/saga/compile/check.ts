/** Checks that concern several parts: names used twice, unknown steps, cycles. */
import { findStuck } from '../../source/dependencies.ts'
import { closest, type Reader } from '../../source/reader.ts'
import { orderOf } from './order.ts'
import type { Saga } from './saga.ts'

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
    const message = 'this saga stops where it fails: nothing of it is ever undone, silent or not'
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
