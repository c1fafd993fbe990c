/**
 * The effect of a deploy on the versions of a name.
 *
 *   created    a new version; without an explicit one it gets the next number
 *   unchanged  the same text again
 *   replaced   another text under a version that has not been started yet
 *   restored   the same text as a retired version, which is in service again
 *   tagged     the same text again, with other tags
 *
 * Another text under a version that was started is refused: its instances say that they are of this version.
 */
import { PetrelError } from '../../kernel/errors.ts'
import { type DefinitionHead, latestOf } from '../../model/definitions.ts'

export interface Wanted {
  readonly name: string
  /** null: versions are numbered automatically. */
  readonly version: string | null
  readonly sourceHash: string
  readonly netHash: string
}

export type Step =
  | { readonly what: 'created'; readonly version: string; readonly number: number }
  | { readonly what: 'unchanged' | 'replaced' | 'restored'; readonly head: DefinitionHead }

/** `versions`: oldest first. */
export function nextStep(versions: readonly DefinitionHead[], wanted: Wanted): Step {
  const number = (versions.at(-1)?.number ?? 0) + 1
  const { version, sourceHash } = wanted
  if (version === null) {
    const latest = latestOf(versions)
    // The same text may be another net: a definition it refers to may have been deployed again.
    const same = latest !== null && latest.sourceHash === sourceHash && latest.netHash === wanted.netHash
    return same ? { what: 'unchanged', head: latest } : { what: 'created', version: nextNumber(versions), number }
  }
  const head = versions.find((v) => v.version === version)
  if (head === undefined) return { what: 'created', version, number }
  if (head.sourceHash === sourceHash) return { what: head.retiredAt === null ? 'unchanged' : 'restored', head }
  if (head.usedAt === null) return { what: 'replaced', head }
  const free = followingVersion(version, new Set(versions.map((v) => v.version)))
  throw new PetrelError(
    'conflict',
    `version '${version}' of workflow '${wanted.name}' has been started and stays as it is; ` +
      `deploy this text under another version, such as '${free}'`,
    { name: wanted.name, version, suggested: free },
  )
}

function nextNumber(versions: readonly DefinitionHead[]): string {
  const numbers = versions.flatMap(({ version }) => (/^\d{1,9}$/.test(version) ? [Number(version)] : []))
  return String(Math.max(0, ...numbers) + 1)
}

/** 1.2 → 1.3, v7 → v8, blue → blue-2. */
function followingVersion(version: string, taken: ReadonlySet<string>): string {
  const [, head = '', last] = /^(.*?)(\d{1,9})$/s.exec(version) ?? [null, `${version}-`, '1']
  for (let n = Number(last) + 1; ; n++) if (!taken.has(`${head}${n}`)) return `${head}${n}`
}
