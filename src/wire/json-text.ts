/**
 * Values as JSON text. A value that cannot be written (nested too deeply, by a client with plain SQL and an older
 * schema) is replaced by `{ "error": { "code": "unreadable", … } }` at its place, as far inside as possible; everything
 * around it is written unchanged.
 */

/** How far inside a reply the unreadable part is searched: list, entry, field, argument. */
const LEVELS = 5

/** Called for each part that was left out, with the id of its entry, if it has one. */
export type Unreadable = (id: string, error: unknown) => void

export function jsonText(value: unknown, unreadable: Unreadable): string {
  try {
    return JSON.stringify(value)
  } catch {
    return inParts(value, LEVELS, '', unreadable) ?? 'null'
  }
}

/** The replacement for a value that cannot be shown. */
export function placeholder(error: unknown): { readonly error: { readonly code: string; readonly message: string } } {
  const message = `this value cannot be shown: ${error instanceof Error ? error.message : String(error)}`
  return { error: { code: 'unreadable', message } }
}

/** undefined: a value that JSON omits. */
function inParts(value: unknown, levels: number, id: string, unreadable: Unreadable): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined
  } catch (error) {
    if (levels === 0 || typeof value !== 'object' || value === null) {
      unreadable(id, error)
      return JSON.stringify(placeholder(error))
    }
    const own = ownId(value) ?? id
    const inside = (part: unknown): string | undefined => inParts(part, levels - 1, own, unreadable)
    if (Array.isArray(value)) return `[${value.map((part) => inside(part) ?? 'null').join(',')}]`
    const entries = Object.entries(value).flatMap(([key, part]) => {
      const text = inside(part)
      return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`]
    })
    return `{${entries.join(',')}}`
  }
}

function ownId(value: object): string | null {
  const { id } = value as { readonly id?: unknown }
  return typeof id === 'string' ? id : null
}
