/** Which error group has a failure: the one with its code and step whose message is the same but for numbers and ids. */

interface Group {
  readonly fingerprint: string
  readonly code: string
  readonly node: string | null
  readonly message: string
}

interface Cause {
  readonly code: string | null
  readonly node: string | null
  readonly message: string
}

const COMPARED = 400

/** null: none, or more than one. */
export function groupOf(groups: readonly Group[], { code, node, message }: Cause): string | null {
  const fits = groups.filter(
    (group) =>
      (code === null || group.code === code) &&
      (node === null || group.node === null || group.node === node) &&
      words(group.message) === words(message),
  )
  return fits.length === 1 ? (fits[0]?.fingerprint ?? null) : null
}

/** Without what a group leaves out: numbers, hexadecimal ids, and spaces. */
function words(message: string): string {
  return message.replace(/[#0-9a-f.,:\-\s]+/gi, '').slice(0, COMPARED)
}
