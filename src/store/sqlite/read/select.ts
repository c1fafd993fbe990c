/** Selects of the read models, outside any transaction. */
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'

type RowOf<Row> = (cells: Cells) => Row

export class Select {
  readonly connection: Connection

  constructor(connection: Connection) {
    this.connection = connection
  }

  rows<Row>(rowOf: RowOf<Row>, sql: string, ...values: Value[]): Promise<readonly Row[]> {
    return this.connection.read(() =>
      this.connection
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  }

  async row<Row>(rowOf: RowOf<Row>, sql: string, ...values: Value[]): Promise<Row | null> {
    return this.connection.read(() => {
      const cells = this.connection.statement(sql).get(...values)
      return cells === undefined ? null : rowOf(cells)
    })
  }

  /** Rows of a read that may take long: see long-reads.ts. */
  list<Row>(rowOf: RowOf<Row>, sql: string, ...values: Value[]): Promise<readonly Row[]> {
    return this.connection.readLong((on) =>
      on
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  }

  /** Rows of a key and its count. */
  counts(sql: string, ...values: Value[]): Promise<ReadonlyMap<string, number>> {
    return this.connection.readLong(
      (on) =>
        new Map(
          on
            .statement(sql)
            .all(...values)
            .map(([key, count]) => [key as string, count as number]),
        ),
    )
  }
}
