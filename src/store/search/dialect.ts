/** Where the SQL of searches differs between the stores. */

export type Parameter = 'text' | 'uuid' | 'number'

export interface Dialect {
  /** The name of a table. */
  table(name: string): string
  /** The parameter with this number, counted from 1. */
  parameter(number: number, type: Parameter): string
  /** Whether a column begins with a text. */
  beginsWith(column: string, text: string): string
  /** A time in milliseconds since the epoch, as a value of a column. */
  moment(ms: string): string
  /** Whether the time between two columns is longer: `>`, or another comparison. */
  lasted(from: string, until: string, comparison: string, ms: string): string
  /** A column for a comparison that no index is to be used for. */
  withoutIndex(column: string): string
  /** Conditions of the indexes of leased runs and of dead letters, about a row named r. */
  readonly leased: string
  readonly dead: string
  /** Pending runs of a type can be found by an index without naming a queue. */
  readonly typesWithoutQueue: boolean
  /** Reads the clock of the store, in milliseconds. */
  readonly clock: string
}

/** A statement under construction, with its values. */
export class Sql {
  readonly dialect: Dialect
  readonly values: (string | number)[] = []

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  text(value: string): string {
    return this.#add(value, 'text')
  }

  uuid(value: string): string {
    return this.#add(value, 'uuid')
  }

  number(value: number): string {
    return this.#add(value, 'number')
  }

  #add(value: string | number, type: Parameter): string {
    this.values.push(value)
    return this.dialect.parameter(this.values.length, type)
  }
}
