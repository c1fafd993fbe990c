/** Pictures of an instance: its timeline and its marking. */
import { missing } from '../../kernel/errors.ts'
import type { Marking, MarkingAsked } from '../../views/pictures/marking.ts'
import type { Timeline, TimelineAsked } from '../../views/pictures/timeline.ts'
import { operation } from '../operation.ts'
import { findInstance } from './find.ts'

interface ById {
  readonly id: string
}

export const showTimeline = operation(
  { scope: 'read' },
  async (use, { id: name, ...asked }: ById & TimelineAsked): Promise<Timeline> => {
    const { id } = await findInstance(use, name)
    const timeline = await use.engine.timeline({ instanceId: id, ...asked })
    // Removed since.
    if (timeline === null) throw missing('instance', name)
    return timeline
  },
)

export const showMarking = operation(
  { scope: 'read' },
  async (use, { id: name, ...asked }: ById & MarkingAsked): Promise<Marking> => {
    const { id } = await findInstance(use, name)
    const marking = await use.engine.marking({ instanceId: id, ...asked })
    if (marking === null) throw missing('instance', name)
    return marking
  },
)
