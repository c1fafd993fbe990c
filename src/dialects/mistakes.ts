/** What can be wrong with a definition, and how it is told. Light: everything that reports errors loads it. */

export type Path = readonly (string | number)[]

export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** What is wrong, where, and what would be right. */
export interface Mistake {
  readonly path: Path
  /** Points at the key itself (it should not be there) instead of at its value. */
  readonly onKey?: boolean
  readonly message: string
  readonly hint: string | null
}

export interface LocatedMistake extends TextPlace {
  /** Dotted path inside the definition; '' is the whole of it. */
  readonly path: string
  readonly message: string
  readonly hint: string | null
}

/** Every mistake of one file at once. */
export class DefinitionError extends Error {
  readonly code = 'invalid_request'
  readonly file: string
  readonly problems: readonly LocatedMistake[]
  constructor(file: string, problems: readonly LocatedMistake[]) {
    const lines = problems.map((p) => `  ${p.line}:${p.column} ${p.path === '' ? '' : `${p.path}: `}${p.message}`)
    super(`${file} is not a valid definition:\n${lines.join('\n')}`)
    this.name = 'DefinitionError'
    this.file = file
    this.problems = problems
  }
}

export function pathText(path: Path): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')
}
