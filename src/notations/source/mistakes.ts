/** Mistakes in definitions, and their messages. Small, because every module that reports errors loads it. */

export interface TextPlace {
  readonly line: number
  readonly column: number
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
