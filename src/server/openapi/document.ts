/** The API as one OpenAPI 3.1 document, assembled from the descriptions of the routes. */
import { ERRORS } from '../../kernel/errors.ts'
import { DESCRIBED_ROUTES } from '../routes.ts'
import { derive } from './derived.ts'

const TAGS: { readonly [name: string]: string } = {
  Jobs: 'Single units of work.',
  Workers: 'Fetch jobs and report their outcomes.',
  Workflows: 'Chains, groups and batches of jobs, nested up to ten levels deep.',
  Sagas: 'Workflows across services: commands, completions, compensation.',
  Queues: 'Where jobs wait.',
  'Dead letters': 'Jobs that failed for good and wait for a person.',
  Cron: 'Jobs that are enqueued on a schedule.',
  Checkpoints: 'Checkpoints and progress of active jobs.',
  Webhooks: 'Events, sent to subscribers.',
  Events: 'All events, past and live.',
  Administration: 'For operators.',
  Schemas: 'Schemas of the arguments of jobs.',
  Server: 'The server itself.',
  Definitions: 'Workflows in any notation: deployed, versioned, started by name, event or schedule.',
  Instances: 'The engine’s own view of workflows in all notations.',
  Gates: 'Gates that wait for the decision of people.',
  'Bulk operations': 'One action on everything that a search finds, item by item.',
  Errors: 'Failures for good, grouped by their cause.',
  Inbox: 'Runs of the table that any service may write to, and workers in any language.',
  Registry: 'Which runtime executes a type, and whether it is enabled.',
  Schedules: 'Runs that are submitted on a schedule.',
}

export function openapiDocument(version: string): object {
  const { paths, schemas } = derive(DESCRIBED_ROUTES)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Petrel',
      version,
      summary: 'Jobs and workflows that survive crashes.',
      description:
        'Paths under /ojs speak the Open Job Spec 1.0: bodies are `application/openjobspec+json` (or `application/json`), ' +
        'and every answer carries OJS-Version and X-Request-Id. Errors have the same form everywhere; nothing has changed when ' +
        'one is answered. On loopback no key is needed by default; elsewhere send `Authorization: Bearer KEY`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `petrel keys add`. Scopes: read, enqueue, work, admin.',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'petrel_session',
          description: 'The sign-in of a browser: POST /v1/session.',
        },
      },
      parameters: {
        OjsVersion: {
          name: 'OJS-Version',
          in: 'header',
          description: 'The version the client speaks; 1.0, or nothing.',
          schema: { type: 'string', examples: ['1.0'] },
        },
        RequestId: {
          name: 'X-Request-Id',
          in: 'header',
          description: 'Comes back with the answer and is in the log; made by the server otherwise.',
          schema: { type: 'string' },
        },
      },
      responses: {
        error: errorResponse('Any other error.'),
        ...Object.fromEntries(
          Object.entries(ERRORS).map(([code, { hint }]) => [code, errorResponse(`\`${code}\`. ${hint}`)]),
        ),
      },
      schemas,
    },
  }
}

function errorResponse(description: string): object {
  const content = { schema: { $ref: '#/components/schemas/Error' } }
  return { description, content: { 'application/openjobspec+json': content, 'application/json': content } }
}
