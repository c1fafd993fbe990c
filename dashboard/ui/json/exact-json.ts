/** JSON whose numbers keep every digit when they are written again. */

interface ExactJson {
  rawJSON?(text: string): unknown
  parse(text: string, read: (key: string, value: unknown, context?: { readonly source?: string }) => unknown): unknown
}

/**
 * A value that JSON.stringify writes with the digits of `text`. Browsers without JSON.rawJSON round numbers that are too long
 * for them, as they do everywhere.
 */
export function exactJson(text: string): unknown {
  const json = JSON as unknown as ExactJson
  return json.parse(text, (_, value, context) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value
    return json.rawJSON?.(source) ?? value
  })
}
