/**
 * Statements, and calls of them. Every statement is prepared once per connection under a name of its own, except those
 * without a name: they have any number of texts, and are planned for their values.
 */

export interface Statement {
  readonly name: string
  readonly text: string
}

/** Values of one row, as the server prints them. */
export type Fields = readonly (string | null)[]

export interface Call {
  readonly statement: Statement
  /** Text, or the binary form of the type. */
  readonly values: readonly (string | Buffer | null)[]
  /** Called for each row, in order. */
  readonly row?: (fields: Fields) => void
}

const byText = new Map<string, Statement>()

/** The same text is the same statement, in every store of this process. */
export function statement(text: string): Statement {
  let known = byText.get(text)
  if (known === undefined) {
    known = { name: `petrel_${byText.size}`, text }
    byText.set(text, known)
  }
  return known
}

/** A statement that is not kept. */
export function unnamed(text: string): Statement {
  return { name: '', text }
}
