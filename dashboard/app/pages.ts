/** The pages: path, title, and the code, which is loaded when a page is first opened. */
import type { ComponentType } from 'preact'

export type PageProps = { readonly params: Readonly<Record<string, string>> }
type Page = ComponentType<PageProps>

export interface PageEntry {
  readonly pattern: string
  readonly title: string
  readonly load: () => Promise<{ readonly default: Page }>
}

export interface NavEntry {
  readonly path: string
  readonly title: string
  /** After `g`. */
  readonly key: string
}

export const NAVIGATION: readonly { readonly title: string; readonly entries: readonly NavEntry[] }[] = [
  {
    title: 'Now',
    entries: [
      { path: '/', title: 'Overview', key: 'o' },
      { path: '/errors', title: 'Errors', key: 'e' },
      { path: '/gates', title: 'Gates', key: 'a' },
    ],
  },
  {
    title: 'Work',
    entries: [
      { path: '/instances', title: 'Instances', key: 'i' },
      { path: '/operations', title: 'Bulk operations', key: 'b' },
      { path: '/definitions', title: 'Definitions', key: 'd' },
      { path: '/schedules', title: 'Schedules', key: 's' },
    ],
  },
  {
    title: 'Capacity',
    entries: [
      { path: '/queues', title: 'Queues and limits', key: 'q' },
      { path: '/workers', title: 'Workers', key: 'w' },
    ],
  },
  {
    title: 'Connections',
    entries: [
      { path: '/inbox', title: 'Inbox', key: 'n' },
      { path: '/sagas', title: 'Sagas', key: 'g' },
      { path: '/webhooks', title: 'Webhooks', key: 'h' },
      { path: '/keys', title: 'Keys and audit', key: 'k' },
    ],
  },
]

export const PAGES: readonly PageEntry[] = [
  { pattern: '/', title: 'Overview', load: () => import('../pages/overview/overview.tsx') },
  { pattern: '/instances', title: 'Instances', load: () => import('../pages/instances/instances.tsx') },
  { pattern: '/queues', title: 'Queues and limits', load: () => import('../pages/queues/queues.tsx') },
  { pattern: '/workers', title: 'Workers', load: () => import('../pages/workers/workers.tsx') },
  { pattern: '/schedules', title: 'Schedules', load: () => import('../pages/schedules/schedules.tsx') },
  { pattern: '/instances/:id', title: 'Instance', load: () => import('../pages/instance/instance.tsx') },
  { pattern: '/runs/:id', title: 'Run', load: () => import('../pages/run/run.tsx') },
  { pattern: '/history', title: 'History file', load: () => import('../pages/history/history.tsx') },
  { pattern: '/runs', title: 'Runs', load: () => import('../pages/runs/runs.tsx') },
  { pattern: '/operations', title: 'Bulk operations', load: () => import('../pages/operations/operations.tsx') },
  { pattern: '/operations/:id', title: 'Bulk operation', load: () => import('../pages/operations/operation.tsx') },
  { pattern: '/errors', title: 'Errors', load: () => import('../pages/errors/errors.tsx') },
  { pattern: '/errors/:fingerprint', title: 'Error group', load: () => import('../pages/errors/group.tsx') },
  { pattern: '/gates', title: 'Gates', load: () => import('../pages/gates/gates.tsx') },
  { pattern: '/gates/:id', title: 'Gate', load: () => import('../pages/gates/gate.tsx') },
  { pattern: '/definitions', title: 'Definitions', load: () => import('../pages/definitions/definitions.tsx') },
  { pattern: '/definitions/:name', title: 'Definition', load: () => import('../pages/definitions/definition.tsx') },
  { pattern: '/sagas', title: 'Sagas', load: () => import('../pages/sagas/sagas.tsx') },
  { pattern: '/sagas/:id', title: 'Saga', load: () => import('../pages/sagas/saga.tsx') },
  { pattern: '/inbox', title: 'Inbox', load: () => import('../pages/inbox/inbox.tsx') },
  { pattern: '/webhooks', title: 'Webhooks', load: () => import('../pages/webhooks/webhooks.tsx') },
  { pattern: '/webhooks/:id', title: 'Webhook', load: () => import('../pages/webhooks/webhook.tsx') },
  { pattern: '/keys', title: 'Keys and audit', load: () => import('../pages/keys/keys.tsx') },
]
