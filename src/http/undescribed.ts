/** The access that routes without a description require: by method and path. */
import type { Access, Scope } from '../operations/caller.ts'

export function accessByPath(method: string, path: string | undefined): Access {
  return { scope: scopeOf(method, path), shared: isShared(method, path) }
}

function scopeOf(method: string, path: string | undefined): Scope {
  if (path === undefined || method === 'GET' || method === 'HEAD') return 'read'
  if (path.startsWith('/ojs/v1/workers/')) return 'work'
  if (/^\/ojs\/v1\/(?:jobs|workflows)(?:\/|$)/.test(path)) return 'enqueue'
  return 'admin'
}

/** Queues and administration belong to all tenants together. */
function isShared(method: string, path: string | undefined): boolean {
  if (path === undefined || path.endsWith('/events')) return false
  // One registry of schemas checks the jobs of all tenants: a tenant may read it.
  if (/^\/ojs\/v1\/schemas(?:\/|$)/.test(path)) return method !== 'GET' && method !== 'HEAD'
  return /^\/ojs\/v1\/(?:queues|admin)(?:\/|$)/.test(path)
}
