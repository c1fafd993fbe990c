/** What a report may contain besides its outcome: context entries and notes for the history. */

/** Notes of one execution, in bytes of JSON. */
export const MAX_NOTES_BYTES = 65_536
const LONGEST_NAME = 128

/** What is wrong with the name of a context entry; null: nothing. */
export function nameProblem(name: unknown): string | null {
  const rule = `the name of a context entry must be a string of 1 to ${LONGEST_NAME} characters`
  if (typeof name !== 'string') return `${rule}, not ${name === null ? 'null' : typeof name}`
  if (name === '') return `${rule}, not empty`
  if (name.length > LONGEST_NAME) return `${rule}, '${name.slice(0, 20)}…' has ${name.length}`
  if (name.includes('\0') || !name.isWellFormed()) return `${rule}, without NUL and halves of surrogate pairs`
  return null
}
