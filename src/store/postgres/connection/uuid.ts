/** Ids come from outside too: a text that is no UUID names nothing, and must not make a statement fail. */
const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return SHAPE.test(text)
}
