/** The path to a failure: from each failed node back to the beginning, over what had ended before it. */
import type { Link, Part } from './drawing.ts'

export interface Trace {
  readonly parts: ReadonlySet<number>
  readonly links: ReadonlySet<number>
}

interface Traced {
  readonly state: string
  readonly startedAt: number | null
}

interface Traceable {
  readonly parts: readonly Part[]
  readonly links: readonly Link[]
}

/** Failures that are traced. */
const MOST = 50
const BEGUN: ReadonlySet<string> = new Set(['running', 'completed', 'failed', 'skipped'])

export function traceOf({ parts, links }: Traceable, stateOf: (part: number) => Traced | undefined): Trace {
  const found = { parts: new Set<number>(), links: new Set<number>() }
  const failed: number[] = []
  for (let i = 0; i < parts.length && failed.length < MOST; i++) {
    if (parts[i]?.shape !== 'undo' && stateOf(i)?.state === 'failed') failed.push(i)
  }
  if (failed.length === 0) return found
  const into = new Map<number, number[]>()
  for (const [i, { to, kind }] of links.entries()) {
    if (kind !== 'arc') continue
    const known = into.get(to)
    if (known === undefined) into.set(to, [i])
    else known.push(i)
  }
  for (const start of failed) {
    let at: number | null = start
    while (at !== null && !found.parts.has(at)) {
      found.parts.add(at)
      const link: number | null = latest(into.get(at) ?? [], links, found.parts, stateOf)
      if (link !== null) found.links.add(link)
      at = link === null ? null : (links[link] as Link).from
    }
  }
  return found
}

/** Of the nodes before, the one that began last was waited for. */
function latest(
  into: readonly number[],
  links: readonly Link[],
  seen: ReadonlySet<number>,
  stateOf: (part: number) => Traced | undefined,
): number | null {
  let best: number | null = null
  let bestAt = Number.NEGATIVE_INFINITY
  for (const i of into) {
    const { from } = links[i] as Link
    const traced = stateOf(from)
    if (traced === undefined || !BEGUN.has(traced.state)) continue
    // A join has no time of its own. A way that another failure has taken is as good as any.
    const at = seen.has(from) ? Number.MAX_VALUE : (traced.startedAt ?? 0)
    if (best === null || at > bestAt) {
      best = i
      bestAt = at
    }
  }
  return best
}
