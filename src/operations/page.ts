/** A page of a list. */
export interface Page<T> {
  readonly rows: readonly T[]
  /** Further items exist. */
  readonly more: boolean
}

/** Reads one more than requested, to determine whether further items exist. */
export async function pageOf<T>(limit: number, read: (limit: number) => Promise<readonly T[]>): Promise<Page<T>> {
  const rows = await read(limit + 1)
  return { rows: rows.slice(0, limit), more: rows.length > limit }
}
