/** Which part of the axis is seen. */

export interface Range {
  /** Positions on the axis. */
  readonly from: number
  readonly to: number
}

const LEAST = 2

export function whole(length: number): Range {
  const margin = length * 0.02
  return { from: -margin, to: length + margin }
}

/** The position at `share` of the width stays there. */
export function zoomedRange({ from, to }: Range, factor: number, share: number, length: number): Range {
  const size = Math.min(length * 1.3, Math.max(LEAST, (to - from) / factor))
  const at = from + (to - from) * share
  return kept({ from: at - size * share, to: at + size * (1 - share) }, length)
}

export function shifted({ from, to }: Range, by: number, length: number): Range {
  return kept({ from: from + by, to: to + by }, length)
}

/** The end of the axis at the right edge, in the size that there is. */
export function following({ from, to }: Range, length: number): Range {
  const size = to - from
  return { from: length - size * 0.97, to: length + size * 0.03 }
}

/** Moved back if nothing would be in view. */
function kept({ from, to }: Range, length: number): Range {
  const size = to - from
  const least = -size * 0.5
  const most = length - size * 0.5
  const begin = Math.min(Math.max(from, Math.min(least, most)), Math.max(least, most))
  return { from: begin, to: begin + size }
}

export function mixed(a: Range, b: Range, t: number): Range {
  return { from: a.from + (b.from - a.from) * t, to: a.to + (b.to - a.to) * t }
}
