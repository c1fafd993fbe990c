/**
 * Ids of events on the wire. `evt_` and a UUIDv7 made of the event's time and its place in the feed: the same on every
 * server and at every reading, in the order of the feed, and sufficient to continue after it.
 */

export interface EventPlace {
  /** Id of the stored event. */
  readonly feedId: number
  /** The number of the wire event among those of its stored event, from 0. */
  readonly part: number
}

const HEX = /^evt_([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-([89ab][0-9a-f]{3})-([0-9a-f]{12})$/

export function eventId({ feedId, part, at }: EventPlace & { readonly at: number }): string {
  const time = Math.max(0, Math.floor(at)).toString(16).padStart(12, '0')
  // 60 bits in the random part; a safe integer has 53.
  const place = feedId.toString(16).padStart(15, '0')
  const index = part.toString(16).padStart(3, '0')
  return `evt_${time.slice(0, 8)}-${time.slice(8, 12)}-7${index}-8${place.slice(0, 3)}-${place.slice(3)}`
}

/** null: not one of these ids. */
export function eventPlace(id: string): EventPlace | null {
  const found = HEX.exec(id)
  if (found === null) return null
  const [, , , index, high, low] = found as unknown as readonly string[]
  const feedId = Number.parseInt(`${(high as string).slice(1)}${low}`, 16)
  return Number.isSafeInteger(feedId) ? { feedId, part: Number.parseInt(index as string, 16) } : null
}
