/** Mistakes in definitions, and their messages. Small, because every module that reports errors loads it. */

export type Path = readonly (string | number)[]

export interface TextPlace {
  readonly line: number
  readonly column: number
}

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

export interface LocatedMistake extends TextPlace {
  /** Left out: the requested file. Otherwise one that it is made of. */
  readonly file?: string
  /** Dotted path inside the definition; '' is the root. */
  readonly path: string
  readonly message: string
  readonly hint: string | null
  readonly rule?: string
}

/** Every mistake of one file, and of those it is made of, at once. */
export class DefinitionError extends Error {
  readonly code = 'invalid_definition'
  readonly file: string
  readonly problems: readonly LocatedMistake[]
  constructor(file: string, problems: readonly LocatedMistake[]) {
    const lines = problems.map((p) => {
      const where = p.file === undefined ? '' : `${p.file}:`
      return `  ${where}${p.line}:${p.column} ${p.path === '' ? '' : `${p.path}: `}${p.message}`
    })
    super(`${file} is not a valid definition:\n${lines.join('\n')}`)
    this.name = 'DefinitionError'
    this.file = file
    this.problems = problems
  }
}

export function pathText(path: Path): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')
}
