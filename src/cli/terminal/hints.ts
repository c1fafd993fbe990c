/** Commands that would help, as they are printed below what waits. */

/** How to write what an admission rule asks for. */
export function contextHint(instance: string, names: readonly string[]): string {
  const entries = names.map((name) => `${name}=true`).join(' ')
  return `petrel context ${instance} ${entries === '' ? 'NAME=JSON' : entries}`
}
