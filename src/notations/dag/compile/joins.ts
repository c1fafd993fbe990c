/**
 * Joins that steps share. Where k steps wait for exactly the same d, separate arcs would be d × k, and as many counts
 * when the d end; one hidden node that waits for the d and starts the k needs d + k.
 */
import type { Waiting } from '../../source/dependencies.ts'

export interface Join {
  /** No step can have this name. */
  readonly key: string
  readonly dependsOn: readonly string[]
  readonly steps: readonly string[]
}

export interface Joins {
  readonly shared: readonly Join[]
  /** For a step: the names it waits for by an arc of its own. */
  readonly sourcesOf: (step: Waiting) => readonly string[]
  readonly arcs: number
}

export function joinsOf(steps: readonly Waiting[]): Joins {
  const groups = new Map<string, Waiting[]>()
  const sorted = new Map<string, string>()
  for (const step of steps) {
    if (step.dependsOn.length < 2) continue
    // Most write the same list in the same order: each order is sorted once.
    const written = step.dependsOn.join(' ')
    const key = sorted.get(written) ?? [...step.dependsOn].sort().join(' ')
    sorted.set(written, key)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [step])
    else group.push(step)
  }
  const shared: Join[] = []
  const joinOf = new Map<string, readonly string[]>()
  let arcs = steps.reduce((sum, s) => sum + s.dependsOn.length, 0)
  for (const group of groups.values()) {
    const { dependsOn } = group[0] as Waiting
    const saved = dependsOn.length * group.length - dependsOn.length - group.length
    if (saved <= 0) continue
    const key = `#${shared.length + 1}`
    shared.push({ key, dependsOn, steps: group.map((s) => s.name) })
    for (const step of group) joinOf.set(step.name, [key])
    arcs -= saved
  }
  return { shared, sourcesOf: (step) => joinOf.get(step.name) ?? step.dependsOn, arcs }
}
