/** Processes many items at once, and finds a failing one by halving. */
import { isStoreAway } from './store-errors.ts'

/**
 * In the order of the items. `alone`: the result for an item that fails by itself. An unavailable store fails them all.
 */
export async function isolated<T, R>(
  items: readonly T[],
  together: (items: readonly T[]) => Promise<readonly R[]>,
  alone: (item: T, error: unknown) => R,
): Promise<readonly R[]> {
  try {
    return await together(items)
  } catch (error) {
    const [first] = items
    if (first === undefined || isStoreAway(error)) throw error
    if (items.length === 1) return [alone(first, error)]
    const half = Math.ceil(items.length / 2)
    const before = await isolated(items.slice(0, half), together, alone)
    return [...before, ...(await isolated(items.slice(half), together, alone))]
  }
}
