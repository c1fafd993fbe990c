/**
 * Names that callers choose (idempotency keys, start keys, limit keys, worker ids) share one column with those of every
 * other tenant and with the engine's own. They are stored so that no caller can use another's name:
 *
 *   @<tenant>/<name>   of a caller with a tenant
 *   <name>             of a caller without one; as @/<name> if it would look like one of the other forms
 *   petrel:…, ojs:…    the engine's own (EngineKey): firings of schedules, events, workflows named by their author
 *   schedule:…         firings of the inbox's schedules, a key that other tickers on that table make too
 */

/** A key that only Petrel itself makes: stored unchanged. */
export class EngineKey {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const NOT_PLAIN = /^(?:@|petrel:|ojs:|schedule:)/

export function scopedName(name: string, tenant: string | null): string {
  if (tenant !== null) return `@${encodeURIComponent(tenant)}/${name}`
  return NOT_PLAIN.test(name) ? `@/${name}` : name
}

/** The stored form; null stays null. */
export function storedKey(key: string | EngineKey | undefined, tenant: string | undefined): string | null {
  if (key === undefined) return null
  return key instanceof EngineKey ? key.text : scopedName(key, tenant ?? null)
}

/** The caller's form. */
export function unscopedName<T extends string | null>(stored: T): T {
  return (stored?.startsWith('@') ? stored.slice(stored.indexOf('/') + 1) : stored) as T
}
