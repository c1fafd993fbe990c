/** The routes of /v1, group by group: what the server serves, and what the document describes. */
import { INBOX_ROUTES } from './inbox/routes.ts'

export const CORE_ROUTES = [...INBOX_ROUTES]
