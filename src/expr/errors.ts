/** Stable: callers map these to HTTP statuses, exit codes and advice. The message may change, the code may not. */
export type ExprErrorCode =
  | 'expr_syntax'
  | 'expr_unknown_filter'
  | 'expr_unknown_test'
  | 'expr_unknown_function'
  | 'expr_unknown_method'
  | 'expr_unknown_name'
  | 'expr_arguments'
  | 'expr_type'
  | 'expr_value'
  | 'expr_budget'

/** Where in the author's text something went wrong. Lines and columns count from 1. */
export interface Place {
  readonly line: number
  readonly column: number
  readonly snippet: string
  /** Path of the string inside a JSON template, such as `$.args.url`. null: the source was one string. */
  readonly path: string | null
}

export class ExprError extends Error {
  readonly code: ExprErrorCode
  readonly place: Place | null
  readonly #detail: string

  constructor(code: ExprErrorCode, detail: string, place: Place | null = null) {
    super(place === null ? detail : `${detail} (${describe(place)})`)
    this.name = 'ExprError'
    this.code = code
    this.place = place
    this.#detail = detail
  }

  /** The innermost place wins: it is the closest to the mistake. */
  at(place: Place): ExprError {
    return this.place === null ? new ExprError(this.code, this.#detail, place) : this
  }

  /** Values deep inside a JSON template know only their line; the template adds the path of the string. */
  inside(path: string): ExprError {
    if (this.place === null || this.place.path !== null) return this
    return new ExprError(this.code, this.#detail, { ...this.place, path })
  }
}

export function placeAt(source: string, offset: number, length: number): Place {
  const before = source.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return {
    line: before.split('\n').length,
    column: offset - lineStart + 1,
    snippet: shorten(source.slice(offset, offset + length)),
    path: null,
  }
}

const SNIPPET_LENGTH = 80

function shorten(text: string): string {
  const oneLine = text
    .slice(0, SNIPPET_LENGTH * 2)
    .split('\n')
    .join(' ')
    .trim()
  return oneLine.length > SNIPPET_LENGTH ? `${oneLine.slice(0, SNIPPET_LENGTH - 1)}…` : oneLine
}

function describe(place: Place): string {
  const path = place.path === null ? '' : `${place.path}, `
  return `${path}line ${place.line}, column ${place.column}: ${place.snippet}`
}
