/** The routes of the server, group by group: what it serves, and what the document describes. */
import { ERROR_PAGE_ROUTES } from '../http/error-page.ts'
import { OJS_ROUTES } from '../notations/ojs/http/routes.ts'
import { AUDIT_ROUTES } from './audit/routes.ts'
import { BULK_ROUTES } from './bulk/routes.ts'
import { CHANGES_ROUTES } from './changes/routes.ts'
import { DEBOUNCED_ROUTES } from './debounced/routes.ts'
import { DEFINITION_ROUTES, DEPLOY_ROUTES } from './definitions/routes.ts'
import { ERROR_ROUTES } from './errors/routes.ts'
import { EVENT_ROUTES } from './events/routes.ts'
import { DECIDE_ROUTES } from './gates/decide.ts'
import { GATE_ROUTES } from './gates/routes.ts'
import { HEALTH_ROUTES } from './health.ts'
import { INBOX_ROUTES } from './inbox/routes.ts'
import { INSTANCE_ROUTES } from './instances/routes.ts'
import { KEY_ROUTES } from './keys/routes.ts'
import { LOG_ROUTES } from './logs/routes.ts'
import { METRICS_ROUTES } from './metrics/metrics.ts'
import { NET_ROUTES } from './nets/routes.ts'
import { OPENAPI_ROUTES } from './openapi/routes.ts'
import { OVERVIEW_ROUTES } from './overview/routes.ts'
import { PAUSE_ROUTES } from './pauses/routes.ts'
import { QUEUE_ROUTES } from './queues/routes.ts'
import { SAGA_ROUTES } from './sagas/routes.ts'
import { SIGN_IN_ROUTES } from './sign-in/routes.ts'
import { UI_ROUTES } from './ui/routes.ts'
import { WORKER_ROUTES } from './workers/routes.ts'

export const CORE_ROUTES = [
  ...INBOX_ROUTES,
  ...DEFINITION_ROUTES,
  ...EVENT_ROUTES,
  ...INSTANCE_ROUTES,
  ...DEBOUNCED_ROUTES,
  ...PAUSE_ROUTES,
  ...LOG_ROUTES,
  ...SAGA_ROUTES,
  ...GATE_ROUTES,
  ...BULK_ROUTES,
  ...ERROR_ROUTES,
  ...QUEUE_ROUTES,
  ...AUDIT_ROUTES,
  ...OVERVIEW_ROUTES,
  ...NET_ROUTES,
  ...CHANGES_ROUTES,
  ...KEY_ROUTES,
  ...WORKER_ROUTES,
]

/** Of the server itself. */
export const SERVER_ROUTES = [
  ...HEALTH_ROUTES,
  ...METRICS_ROUTES,
  ...OPENAPI_ROUTES,
  ...ERROR_PAGE_ROUTES,
  ...SIGN_IN_ROUTES,
  ...UI_ROUTES,
]

/** Including separately mounted ones, whose bodies are not JSON, or not always. */
export const DESCRIBED_ROUTES = [...SERVER_ROUTES, ...CORE_ROUTES, ...DEPLOY_ROUTES, ...DECIDE_ROUTES, ...OJS_ROUTES]
