/** GET /v1/instances/:id/why: what an instance waits for, node by node. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query, textParam, wholeParam } from '../../http/query.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { isWhyCursor, type Why } from '../../views/why.ts'
import { whyWire } from '../../wire/why.ts'
import { type ById, findRow } from './find.ts'

export function whyRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.get<ById>('/v1/instances/:id/why', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const limit = wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 })
    const after = textParam(query, 'after')
    if (after !== null && !isWhyCursor(after)) {
      throw new PetrelError('invalid_request', `after is the next_after of a page, not '${after}'`, {
        parameter: 'after',
      })
    }
    const { id } = await findRow(engine, request.params.id, request.caller)
    return whyWire((await engine.why({ instanceId: id, after, limit })) as Why)
  })
}
