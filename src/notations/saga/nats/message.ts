/** A message as its handlers see it, and their possible verdicts. */

export interface Message {
  readonly subject: string
  readonly data: Uint8Array
  /** Number of deliveries, including this one. */
  readonly deliveries: number
  header(name: string): string | null
}

/** done: acknowledged, never delivered again. Otherwise it is. */
export type Verdict = 'done' | { readonly againInMs: number }

const AGAIN_MS = 500
const MOST_AGAIN_MS = 10_000

/** The more often it came, the longer the pause before the next delivery. */
export function again({ deliveries }: Message): Verdict {
  return { againInMs: Math.min(AGAIN_MS * 2 ** Math.min(deliveries - 1, 10), MOST_AGAIN_MS) }
}
