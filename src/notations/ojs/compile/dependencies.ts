/** What comes after what is the build of a workflow; a dependency that is not kept must not look kept. */
import type { Part } from '../../../kernel/reading/part.ts'

const HINT = 'put what runs in order into a chain, and what runs side by side into a group inside of it'

/** Of a job or a workflow, beside its type or among its options. */
export function refuseDependencies(part: Part, what: string): void {
  for (const holder of [part, part.get('options')]) {
    if (holder.isObject && holder.has('depends_on')) {
      holder.get('depends_on').wrong(`${what} has no depends_on`, HINT)
    }
  }
}
