/**
 * The structure of a workflow defines the order of its jobs; a dependency that has no effect is refused, not ignored.
 */
import type { Part } from '../../../kernel/reading/part.ts'

const HINT = 'put what runs in order into a chain, and what runs side by side into a group inside of it'

/** Fields of a job or a workflow, beside its type or among its options. */
export function refuseDependencies(part: Part, what: string): void {
  for (const holder of [part, part.get('options')]) {
    if (holder.isObject && holder.has('depends_on')) {
      holder.get('depends_on').wrong(`${what} has no depends_on`, HINT)
    }
  }
}
