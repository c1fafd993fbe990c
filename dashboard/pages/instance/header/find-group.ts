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

/** null: none, or more than one. The step of a nested workflow is not that of the failure outside of it. */
export function groupOf(groups: readonly Group[], { code, node, message }: Cause): string | null {
  const alike = groups.filter(
    (group) => (code === null || group.code === code) && words(group.message) === words(message),
  )
  const own = alike.filter((group) => group.node === node)
  return only(own) ?? (own.length === 0 ? only(alike) : null)
}

function only(groups: readonly Group[]): string | null {
  return groups.length === 1 ? (groups[0]?.fingerprint ?? null) : null
}

/** Without what a group leaves out: numbers, hexadecimal ids, and spaces. */
function words(message: string): string {
  return message.replace(/[#0-9a-f.,:\-\s]+/gi, '').slice(0, COMPARED)
}
