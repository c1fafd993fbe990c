/** The cost of the steps, from their results: `usage: { tokens, cost, currency }`. */
import type { JsonText } from '../../../model/rows.ts'

export interface Cost {
  readonly tokens: number
  /** null: in several currencies, which cannot be added. */
  readonly cost: number | null
  /** null: none was given, or several were. */
  readonly currency: string | null
}

/** Invalid numbers are skipped: one handler's mistake must not spoil the others' costs. */
export function costOf(usages: readonly JsonText[]): Cost {
  let tokens = 0
  const sums = new Map<string | null, number>()
  for (const text of usages) {
    const usage = JSON.parse(text) as { readonly [key: string]: unknown }
    if (isAmount(usage['tokens'])) tokens += usage['tokens']
    if (!isAmount(usage['cost'])) continue
    const currency = typeof usage['currency'] === 'string' ? usage['currency'] : null
    sums.set(currency, (sums.get(currency) ?? 0) + usage['cost'])
  }
  if (sums.size > 1) return { tokens, cost: null, currency: null }
  const [only] = sums
  return { tokens, cost: only === undefined ? 0 : rounded(only[1]), currency: only?.[0] ?? null }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Sums of prices such as 0.1 and 0.2 stay readable. */
function rounded(sum: number): number {
  return Number(sum.toFixed(9))
}
