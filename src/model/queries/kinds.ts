/** Kinds of pending runs: the queues and types that wait, however many runs each of them has. */

/** Kinds that one read finds, in no particular order. */
export const MAX_KINDS = 1_000
/** Pending runs of a kind among which the due ones are counted, and priorities among which the oldest is found. */
export const MAX_OF_KIND = 1_000

export interface Kind {
  readonly queue: string
  readonly type: string
}

/** What the registry says of the type; null: nothing, any runtime may take it. */
export interface WaitingKind extends Kind {
  readonly registered: { readonly runtime: string; readonly enabled: boolean } | null
}

export interface DueOfKind {
  /** At most MAX_OF_KIND. */
  readonly due: number
  /** There may be more. */
  readonly more: boolean
  readonly oldestAt: number | null
}

export interface KindQueries {
  /** At most `limit`, which MAX_KINDS bounds. Jumps along the claim index from one to the next. */
  waiting(params: { readonly limit: number }): Promise<readonly WaitingKind[]>
  due(kind: Kind): Promise<DueOfKind>
}
