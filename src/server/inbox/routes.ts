/** The inbox over HTTP: /v1/runs, /v1/registry, /v1/schedules. */
import { CLAIM_ROUTES } from './claims.ts'
import { REGISTRY_ROUTES } from './registry.ts'
import { RUN_ROUTES } from './runs.ts'
import { SCHEDULE_ROUTES } from './schedules.ts'

export const INBOX_ROUTES = [...RUN_ROUTES, ...CLAIM_ROUTES, ...REGISTRY_ROUTES, ...SCHEDULE_ROUTES]
