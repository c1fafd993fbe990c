/** Clients send ids as well: a text that is not a UUID matches no row and must not make a statement fail. */
const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return SHAPE.test(text)
}
