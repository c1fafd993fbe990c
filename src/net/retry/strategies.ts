/**
 * Backoff strategies: how long to wait after the n-th failure. A new strategy is an entry here; the notations that offer it
 * map a name of their own to it.
 */

export interface Growth {
  /** Delay after the first failure. */
  readonly initialMs: number
  /** Base of exponential, power of polynomial. */
  readonly coefficient: number
}

const STRATEGIES = {
  constant: ({ initialMs }: Growth): number => initialMs,
  linear: ({ initialMs }: Growth, n: number): number => initialMs * n,
  exponential: ({ initialMs, coefficient }: Growth, n: number): number => initialMs * coefficient ** (n - 1),
  polynomial: ({ initialMs, coefficient }: Growth, n: number): number => initialMs * n ** coefficient,
}

export type Backoff = keyof typeof STRATEGIES

export const BACKOFFS = Object.keys(STRATEGIES) as readonly Backoff[]

/** Delay after failure number `n` (from 1), without limit or jitter. */
export function growthMs(backoff: Backoff, growth: Growth, n: number): number {
  // The other factor may be infinite by then, and the product is not a number.
  if (growth.initialMs === 0) return 0
  return STRATEGIES[backoff](growth, n)
}
