/** What is wrong with a part of an untrusted value. */

export type Path = readonly (string | number)[]

/** What is wrong, where, and the correct form. */
export interface Mistake {
  readonly path: Path
  /** Points at the key itself (it should not be there) instead of at its value. */
  readonly onKey?: boolean
  readonly message: string
  readonly hint: string | null
  /** The identifier of the violated rule, for programs: `no_timeout`, `dead_step`. */
  readonly rule?: string
}

export function pathText(path: Path): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')
}
