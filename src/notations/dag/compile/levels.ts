/** How deep workflows are nested. */

import { netHash } from '../../../kernel/hash.ts'
import { MAX_NESTING } from '../../../kernel/limits.ts'
import type { Net } from '../../../net/net.ts'
import type { Definition } from '../../source/definition.ts'
import type { Target } from './nested.ts'
import type { Step, Workflow } from './workflow.ts'

/** Exact up to the bound; beyond it one level more is enough to know. */
export function levelsOf(main: Workflow, targetOf: (step: Step) => Target | null): number {
  const known = new Map<Workflow | Definition, number>()
  // A chain of thousands must not exhaust the stack.
  const levels = (workflow: Workflow, left: number): number => {
    if (left === 0) return 1
    let deepest = 0
    for (const step of workflow.steps) {
      const target = targetOf(step)
      if (target === null) continue
      const inner = target.workflow ?? target.definition
      const found =
        known.get(inner) ?? (target.workflow ? levels(target.workflow, left - 1) : netLevels(target.definition))
      known.set(inner, found)
      deepest = Math.max(deepest, found)
    }
    return deepest + 1
  }
  return levels(main, MAX_NESTING)
}

function netLevels(definition: Definition | null): number {
  if (definition === null) return 0
  const { net, nets = [] } = definition.start
  const byHash = new Map(nets.map((n) => [netHash(n), n]))
  const known = new Map<Net, number>()
  const levels = (outer: Net): number => {
    const before = known.get(outer)
    if (before !== undefined) return before
    const inner = outer.nodes.flatMap(({ work }) => (work.kind === 'child' ? (byHash.get(work.net) ?? []) : []))
    const found = 1 + Math.max(0, ...inner.map(levels))
    known.set(outer, found)
    return found
  }
  return levels(net)
}
