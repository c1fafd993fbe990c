/** The routes of /v1, group by group: what the server serves, and what the document describes. */
import { OJS_ROUTES } from '../notations/ojs/http/routes.ts'
import { DEFINITION_ROUTES, DEPLOY_ROUTES } from './definitions/routes.ts'
import { EVENT_ROUTES } from './events/routes.ts'
import { DECIDE_ROUTES } from './gates/decide.ts'
import { GATE_ROUTES } from './gates/routes.ts'
import { INBOX_ROUTES } from './inbox/routes.ts'
import { INSTANCE_ROUTES } from './instances/routes.ts'
import { SAGA_ROUTES } from './sagas/routes.ts'

export const CORE_ROUTES = [
  ...INBOX_ROUTES,
  ...DEFINITION_ROUTES,
  ...EVENT_ROUTES,
  ...INSTANCE_ROUTES,
  ...SAGA_ROUTES,
  ...GATE_ROUTES,
]

/** With those that are mounted apart, since their bodies are not JSON, or not always. */
export const DESCRIBED_ROUTES = [...CORE_ROUTES, ...DEPLOY_ROUTES, ...DECIDE_ROUTES, ...OJS_ROUTES]
