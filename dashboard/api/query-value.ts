/** A value in a query, whatever it contains: `"two words"`. */
export function queryValue(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
