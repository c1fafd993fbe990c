/** GET /openapi.json and /ojs/v1/openapi.json: the whole API as an OpenAPI 3.1 document. */
import { anything } from '../../wire/schema.ts'
import { serverRoute as route } from '../context.ts'

export const OPENAPI_ROUTES = (
  [
    ['/openapi.json', 'This document'],
    ['/ojs/v1/openapi.json', 'This document, with the media type of OJS'],
  ] as const
).map(([path, summary]) =>
  route(
    `GET ${path}`,
    {
      tag: 'Server',
      summary,
      does: 'none',
      otherQuery: 'ignored',
      answers: { '200': { description: 'OpenAPI 3.1.', schema: anything({ type: 'object' }) } },
    },
    async ({ reply }, { document }) => reply.type('application/json; charset=utf-8').send(await document()),
  ),
)
