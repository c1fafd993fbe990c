/** What is wrong with a text, by line. */

export interface LineProblem {
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
  readonly hint: string | null
  readonly isWarning: boolean
}

type Reported = Omit<LineProblem, 'isWarning'>

export function problemsOf(reported: readonly Reported[], isWarning: boolean): readonly LineProblem[] {
  return reported.map(({ line, column, path, message, hint }) => ({ line, column, path, message, hint, isWarning }))
}
