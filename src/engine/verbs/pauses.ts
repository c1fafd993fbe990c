/** What can be done with pauses: of definitions and types, and to read all of them. Instances: instances.ts, queues: queues.ts. */

import type { PauseRow, Pauses } from '../../model/pauses/pauses.ts'
import type { DefinitionNamed } from '../control/pause-rules.ts'
import type { Parts } from '../parts.ts'

interface By {
  readonly actor: string | null
}

interface Because extends By {
  readonly reason: string | null
}

export interface PauseVerbs {
  readonly pauses: Pick<Pauses, 'get' | 'list'>
  /** New instances of the definition wait in the queue. A pause that is in force is a conflict. */
  pauseDefinition(params: DefinitionNamed & Because): Promise<PauseRow>
  /** Those that waited begin, in their order. Returns the pause that has ended. */
  resumeDefinition(params: DefinitionNamed & By): Promise<PauseRow>
  /** No worker claims a run of the type. */
  pauseType(params: { readonly type: string } & Because): Promise<PauseRow>
  resumeType(params: { readonly type: string } & By): Promise<PauseRow>
}

export function pauseVerbs({ store, pauseRules }: Parts): PauseVerbs {
  return {
    pauses: store.pauses,
    pauseDefinition: (p) => pauseRules.pauseDefinition(p),
    resumeDefinition: (p) => pauseRules.resumeDefinition(p),
    pauseType: (p) => pauseRules.pauseType(p),
    resumeType: (p) => pauseRules.resumeType(p),
  }
}
