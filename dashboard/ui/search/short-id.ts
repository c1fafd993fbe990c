/** The end of an id, where ids made at the same time differ. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-12)}` : id
}
