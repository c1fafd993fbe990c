/** Values written into the statement itself, as psycopg2 sends them. */
export type Value = string | number | null | NaiveTime

/** A timestamp without a zone, as `datetime.now()` returns it in a UTC process. */
export class NaiveTime {
  readonly text: string

  constructor(at: number) {
    this.text = new Date(at).toISOString().slice(0, 23)
  }
}

export function interpolated(statement: string, values: readonly Value[]): string {
  const rest = [...values]
  return statement.replaceAll('%s', () => literal(rest.shift() as Value))
}

function literal(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (value instanceof NaiveTime) return `'${value.text}'::timestamp`
  const quoted = `'${value.replaceAll("'", "''")}'`
  return value.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted
}
