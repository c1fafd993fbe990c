/** The names for an item of a loop. Positions count from 0. */
import type { Json } from '../../../net/net.ts'

export interface Item {
  readonly value: Json
  readonly index: number
  readonly total: number
}

export interface IterNames {
  readonly iter: { readonly [name: string]: Json }
  readonly loop: { readonly [name: string]: Json }
}

export function iterNames(iterator: string | null, { value, index, total }: Item): IterNames {
  const first = index === 0
  const last = index === total - 1
  return {
    iter: { index, _index: index, _first: first, _last: last, ...(iterator === null ? {} : { [iterator]: value }) },
    loop: { index, first, last, length: total },
  }
}
