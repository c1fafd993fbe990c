/** GET /openapi.json and /ojs/v1/openapi.json: the whole API as an OpenAPI 3.1 document. */
import type { FastifyInstance } from 'fastify'

export function openapiRoutes(app: FastifyInstance, version: string): void {
  let text: string | null = null
  for (const path of ['/openapi.json', '/ojs/v1/openapi.json']) {
    app.get(path, { config: { access: 'none' } }, async (_, reply) => {
      // Made for the first one who asks: starting does not wait for it.
      text ??= JSON.stringify((await import('./document.ts')).openapiDocument(version))
      return reply.type('application/json; charset=utf-8').send(text)
    })
  }
}
