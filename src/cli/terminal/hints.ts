/** Commands that would help, printed below a wait. */

/** The command to write the context that an admission rule requires. */
export function contextHint(instance: string, names: readonly string[]): string {
  const entries = names.map((name) => `${name}=true`).join(' ')
  return `petrel context ${instance} ${entries === '' ? 'NAME=JSON' : entries}`
}
