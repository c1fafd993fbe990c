/**
 * A table is described once: its fields, what each holds, what it starts as and whether it changes. The type of a row,
 * the column lists of both stores, their readers and writers, and a blank row are derived from the description.
 */

/** time: milliseconds since the epoch. json, jsonb: carried as text. list: an array of strings. */
export type Kind = 'uuid' | 'text' | 'int' | 'bigint' | 'bool' | 'time' | 'json' | 'jsonb' | 'list'

export type Cell = string | number | boolean | null

export class Field<T> {
  readonly kind: Kind
  /** What an insert that leaves the column out gets from the schema; undefined: every insert names the column. */
  readonly initial: T | undefined
  /** Written by updates too. */
  readonly changes: boolean
  /** Read by itself where the other columns of a wide row are read as one. */
  readonly usual: boolean
  /** Where the name of the column is not that of the field. */
  readonly column: string | null

  constructor(kind: Kind, initial: T | undefined, changes = false, usual = false, column: string | null = null) {
    this.kind = kind
    this.initial = initial
    this.changes = changes
    this.usual = usual
    this.column = column
  }

  initially(value: T): Field<T> {
    return new Field<T>(this.kind, value, this.changes, this.usual, this.column)
  }

  orNull(): Field<T | null> {
    return new Field<T | null>(this.kind, null, this.changes, this.usual, this.column)
  }

  changing(): Field<T> {
    return new Field(this.kind, this.initial, true, this.usual, this.column)
  }

  often(): Field<T> {
    return new Field(this.kind, this.initial, this.changes, true, this.column)
  }

  named(column: string): Field<T> {
    return new Field(this.kind, this.initial, this.changes, this.usual, column)
  }
}

export const uuid = (): Field<string> => new Field<string>('uuid', undefined)
export const text = <T extends string = string>(): Field<T> => new Field<T>('text', undefined)
export const int = (): Field<number> => new Field<number>('int', undefined)
export const bigint = (): Field<number> => new Field<number>('bigint', undefined)
export const bool = (): Field<boolean> => new Field<boolean>('bool', undefined)
export const time = (): Field<number> => new Field<number>('time', undefined)
export const json = (): Field<string> => new Field<string>('json', undefined)
export const jsonb = (): Field<string> => new Field<string>('jsonb', undefined)
export const list = (): Field<readonly string[]> => new Field<readonly string[]>('list', undefined)

export interface Description<F> {
  readonly name: string
  readonly fields: F
}

export function table<F extends object>(name: string, fields: F): Description<F> {
  return { name, fields }
}

/** A row of a described table. */
export type RowOf<D> =
  D extends Description<infer F> ? { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never } : never

export interface Column extends Pick<Field<unknown>, 'kind' | 'changes' | 'usual'> {
  readonly key: string
  readonly name: string
  readonly initial: Cell | undefined
}

/** The columns of a table, in the order of its fields. */
export function columnsOf({ fields }: Description<object>): readonly Column[] {
  return Object.entries(fields as { readonly [key: string]: Field<unknown> }).map(([key, field]) => ({
    key,
    name: field.column ?? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    kind: field.kind,
    initial: field.initial as Cell | undefined,
    changes: field.changes,
    usual: field.usual,
  }))
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const PLACEHOLDERS: Readonly<Record<Kind, string>> = {
  uuid: "''",
  text: "''",
  int: '0',
  bigint: '0',
  bool: 'false',
  time: '0',
  json: "'null'",
  jsonb: "'null'",
  list: '[]',
}

/**
 * Makes rows with the initial values; fields without one must be assigned. Compiled to one object literal: every step
 * makes a run, and a literal costs a third of a copy of a template.
 */
export function blank<D extends Description<object>>(description: D): () => Mutable<RowOf<D>> {
  const fields = columnsOf(description).map(({ key, kind, initial }) => {
    return `${key}: ${initial === undefined ? PLACEHOLDERS[kind] : JSON.stringify(initial)}`
  })
  return new Function(`return { ${fields.join(', ')} }`) as () => Mutable<RowOf<D>>
}
