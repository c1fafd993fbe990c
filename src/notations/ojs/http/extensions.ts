/** What goes beyond the core of OJS, in one place. */
import type { FastifyInstance } from 'fastify'
import type { OjsContext } from './context.ts'
import { progressRoutes } from './events/progress.ts'

export function extensionRoutes(app: FastifyInstance, context: OjsContext): void {
  progressRoutes(app, context)
}
