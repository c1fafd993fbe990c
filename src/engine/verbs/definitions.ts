/** What can be done with definitions: to plan and deploy them, to start instances of them, and to read their nets. */

import type {
  DefinitionStarted,
  Planned,
  Startable,
  StartDefinition,
  StartLimits,
  TriggerDefinition,
  Triggered,
} from '../../model/start.ts'
import type { Net } from '../../net/net.ts'
import { type Deployments, deploymentsOn } from '../intake/deployments.ts'
import { planStart } from '../intake/plans.ts'
import type { Parts } from '../parts.ts'

export interface DefinitionVerbs {
  /** Adds and retires versions of definitions. */
  readonly deployments: Deployments
  /** The limits of a start, for code that plans one without an engine. */
  readonly startLimits: StartLimits
  /** The stored form of a definition; refuses what a start would refuse. */
  planDefinition(start: Startable): Planned
  /** Starts a deployed definition by its name. */
  startDefinition(params: StartDefinition): Promise<DefinitionStarted>
  /** The same for an event that happened: idle instances of that name start; only if there are none, a new one does. */
  triggerDefinition(params: TriggerDefinition): Promise<readonly Triggered[]>
  net(hash: string): Promise<Net | null>
}

export function definitionVerbs({ store, nets, definitions, startLimits }: Parts): DefinitionVerbs {
  return {
    deployments: deploymentsOn(store),
    startLimits,
    planDefinition: (start) => planStart(start, nets, startLimits),
    startDefinition: (p) => definitions.start(p),
    triggerDefinition: (p) => definitions.trigger(p),
    net: async (hash) => {
      const known = nets.get(hash)
      if (known !== undefined) return known.net
      const row = await store.read.net(hash)
      return row === null ? null : nets.load(row).net
    },
  }
}
