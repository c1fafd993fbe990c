/** Plans a definition without an open engine: for a thread that reads a large one. */
import type { Planned, Startable, StartLimits } from '../model/start.ts'
import { Evaluators, type Vocabularies } from './fold/evaluators.ts'
import { planStart } from './intake/plans.ts'
import { Nets } from './transaction/nets.ts'

/** Refuses what a start would refuse. */
export function planApart(start: Startable, vocabularies: Vocabularies, limits: StartLimits): Planned {
  return planStart(start, new Nets(new Evaluators(vocabularies)), limits)
}
