/** Handlers of a dry run. Bodies that a program builds are not at hand: the services are given what they are built from. */
import type { Net } from '../../../net/net.ts'
import type { Handler } from '../../../worker/handlers.ts'
import type { CommandOptions } from '../../interface/notation.ts'
import { type Builders, templateBuilders } from './builders.ts'
import { makeSagaHandler } from './handler.ts'
import { TEMPLATE_TYPE } from './program.ts'

const STAND_IN: Builders = {
  command: (_, { request }) => request as unknown,
  compensation: (_, { result }) => result as unknown,
}

export function dryRunHandlers(net: Net, options: CommandOptions): readonly (readonly [string, Handler])[] {
  const types = new Set(net.nodes.flatMap(({ work }) => (work.kind === 'run' ? [work.type] : [])))
  return [...types].map((type) => {
    const builders = type === TEMPLATE_TYPE ? templateBuilders() : STAND_IN
    return [type, makeSagaHandler({ builders, ...options }) as Handler] as const
  })
}
