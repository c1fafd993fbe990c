/** Errors a store raises. The class is the policy: Busy may be tried again, Data concerns one row, Closed ends it. */

export class StoreError extends Error {
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** The database refused a value (bad JSON, unrepresentable text, out of range). Bisect the batch to find it. */
export class StoreDataError extends StoreError {}

/** A unique key was taken between load and write: load again and decide anew. */
export class StoreConflictError extends StoreError {}

/** Connection lost or database locked for too long; nothing was written, or the outcome of the commit is not known. */
export class StoreUnavailableError extends StoreError {}

/** The database itself cannot be used: newer schema, changed migration, corrupt file, unknown URL. */
export class StoreUnusableError extends StoreError {}
