/** Dependencies: if no step has any, each waits for the one before it. */
import type { Waiting } from '../../source/dependencies.ts'
import type { Saga } from './saga.ts'

export function orderOf({ steps }: Saga): readonly Waiting[] {
  const sequence = steps.every((step) => step.dependsOn === null)
  return steps.map(({ name, dependsOn }, i) => {
    const before = steps[i - 1]
    if (sequence) return { name, dependsOn: before === undefined ? [] : [before.name] }
    return { name, dependsOn: dependsOn ?? [] }
  })
}
