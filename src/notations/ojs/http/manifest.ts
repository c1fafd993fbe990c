/** GET /ojs/manifest: what this server is and can do. */
import { MAX_NESTING } from '../../../kernel/limits.ts'
import { entries, flag, list, named, object, text, type Value, whole, word } from '../../../wire/schema.ts'
import { type OjsContext, route } from './context.ts'

const OFFICIAL = [
  'admin-api',
  'backpressure',
  'dead-letter',
  'durable-execution',
  'graceful-shutdown',
  'job-versioning',
  'multi-tenancy',
  'observability',
  'progress',
  'rate-limiting',
  'schema-registry',
  'webhooks',
].map((name) => ({ name, uri: `urn:ojs:ext:${name}`, version: '1.0.0' }))

const CAPABILITIES = {
  batch_enqueue: true,
  cron_jobs: true,
  dead_letter: true,
  delayed_jobs: true,
  job_ttl: true,
  priority_queues: true,
  rate_limiting: true,
  schema_validation: true,
  unique_jobs: true,
  workflows: true,
  pause_resume: true,
  events: true,
  realtime: true,
  long_poll: true,
  batch_ack: true,
  api_keys: true,
  tenants: true,
  checkpoints: true,
  progress: true,
  webhooks: true,
  backpressure: true,
  admin_api: true,
}

const ENDPOINTS = {
  base_url: '/ojs/v1',
  manifest: '/ojs/manifest',
  health: '/ojs/v1/health',
  jobs: '/ojs/v1/jobs',
  workers: '/ojs/v1/workers',
  queues: '/ojs/v1/queues',
  dead_letter: '/ojs/v1/dead-letter',
  cron: '/ojs/v1/cron',
  workflows: '/ojs/v1/workflows',
  events: '/ojs/v1/events',
  event_stream: '/ojs/v1/events/stream',
  websocket: '/ojs/v1/ws',
  checkpoints: '/ojs/v1/jobs/{id}/checkpoint',
  webhooks: '/ojs/v1/webhooks/subscriptions',
  schemas: '/ojs/v1/schemas',
  admin: '/ojs/v1/admin',
  openapi: '/openapi.json',
  metrics: '/metrics',
}

const Manifest = named(
  'Manifest',
  object({
    specversion: text(),
    ojs_version: text(),
    implementation: object({ name: text(), version: text(), language: text() }),
    conformance_level: whole(),
    conformance_tier: text(),
    protocols: list(text()),
    backend: word(['sqlite', 'postgres']),
    unique_job_strength: text(),
    capabilities: entries(flag()),
    limits: object({ max_body_bytes: whole(), max_workflow_depth: whole() }),
    events: object({ delivery: text(), ordering: text(), resume: text() }),
    extensions: object({
      official: list(object({ name: text(), uri: text(), version: text() })),
      experimental: list(object({})),
    }),
    endpoints: entries(text()),
  }),
)

export const MANIFEST_ROUTES = [
  route(
    'GET /ojs/manifest',
    {
      tag: 'Server',
      summary: 'The capabilities of this server',
      does: 'none',
      answers: { '200': { description: 'The manifest.', schema: Manifest } },
    },
    async (_, context) => manifestOf(context),
  ),
]

function manifestOf({ version, options }: OjsContext): Value<typeof Manifest> {
  return {
    specversion: '1.0',
    ojs_version: '1.0',
    implementation: { name: 'petrel', version, language: 'typescript' },
    conformance_level: 4,
    conformance_tier: 'runtime',
    protocols: ['http', 'sse', 'websocket'],
    backend: options.backend,
    unique_job_strength: 'strong',
    capabilities: CAPABILITIES,
    limits: { max_body_bytes: options.maxBodyBytes, max_workflow_depth: MAX_NESTING },
    events: { delivery: 'at-least-once', ordering: 'per-job', resume: 'Last-Event-ID' },
    extensions: { official: OFFICIAL, experimental: [] },
    endpoints: ENDPOINTS,
  }
}
