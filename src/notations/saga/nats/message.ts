/** A message as those see it who decide about it, and what they can decide. */

export interface Message {
  readonly subject: string
  readonly data: Uint8Array
  /** Times it was delivered, with this one. */
  readonly deliveries: number
  header(name: string): string | null
}

/** done: acknowledged, it does not come again. Otherwise it does. */
export type Verdict = 'done' | { readonly againInMs: number }

const AGAIN_MS = 500
const MOST_AGAIN_MS = 10_000

/** The oftener it came, the later it comes again. */
export function again({ deliveries }: Message): Verdict {
  return { againInMs: Math.min(AGAIN_MS * 2 ** Math.min(deliveries - 1, 10), MOST_AGAIN_MS) }
}
