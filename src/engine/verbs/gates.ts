/** What can be done with gates. */

import type { GateAnswer, GateLink, GateView } from '../../model/gates.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Parts } from '../parts.ts'

export interface GateVerbs {
  /** Records one person's vote, which may decide the gate. */
  answerGate(params: GateAnswer): Promise<InstanceRow>
  /** Records in the history that a signed link was issued; to be called before the link is made. */
  noteLink(params: GateLink): Promise<void>
  gate(id: string): Promise<GateView | null>
}

export function gateVerbs({ gates }: Parts): GateVerbs {
  return {
    answerGate: (p) => gates.answer(p),
    noteLink: (p) => gates.noteLink(p),
    gate: (id) => gates.view(id),
  }
}
