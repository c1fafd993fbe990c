/** Runs many trials of one implementation, and shows a failing one in the smallest form fast-check finds. */
import fc from 'fast-check'
import type { Net } from '../../src/net/net.ts'
import { type NetCase, netCases } from './nets.ts'
import { templateOf } from './pieces.ts'
import { Trial } from './trial.ts'
import type { Implementation } from './world.ts'

export interface Cases {
  readonly count: number
  readonly seed: number
  /** false: stop at the first failing case, without shrinking. */
  readonly shrink: boolean
}

export interface CasesResult {
  readonly failure: string | null
  /** Trials played until the end or the first failure (not those of shrinking). */
  readonly played: number
  readonly coverage: ReadonlyMap<string, number>
}

export function runCases(implementation: Implementation, { count, seed, shrink }: Cases): CasesResult {
  const coverage = new Map<string, number>()
  let played = 0
  let failed = false
  const scripts = fc.array(fc.nat(65_535), { minLength: 1, maxLength: 40, size: 'max' })
  const property = fc.property(netCases, scripts, (netCase, script) => {
    const trial = new Trial(implementation, netCase)
    if (!failed) played += 1
    try {
      trial.play(script)
    } catch (error) {
      failed = true
      throw error
    }
    if (failed) return
    for (const what of trial.seen) coverage.set(what, (coverage.get(what) ?? 0) + 1)
    const size = netCase.net.nodes.length
    const label = size <= 5 ? '1-5' : size <= 12 ? '6-12' : '13-30'
    coverage.set(`nodes ${label}`, (coverage.get(`nodes ${label}`) ?? 0) + 1)
  })
  const result = fc.check(property, { numRuns: count, seed, endOnFailure: !shrink })
  if (!result.failed) return { failure: null, played, coverage }
  const [netCase, script] = result.counterexample!
  return { failure: explain(implementation, netCase, script), played, coverage }
}

function explain(implementation: Implementation, netCase: NetCase, script: readonly number[]): string {
  const trial = new Trial(implementation, netCase)
  let message = 'passed when played again'
  try {
    trial.play(script)
  } catch (error) {
    message =
      error instanceof Error
        ? `${error.name}: ${error.message}\n${error.stack?.split('\n').slice(1, 6).join('\n')}`
        : String(error)
  }
  return [
    message,
    ...describeNet(netCase.net, netCase.items),
    'happenings:',
    ...trial.log.map((line) => `  ${line}`),
  ].join('\n')
}

/** One line per node, without the defaults. */
export function describeNet(net: Net, items: NetCase['items']): string[] {
  const { nodes, ...policy } = net
  const lines = nodes.map((node) => {
    const parts = [`  ${node.key}: ${node.work.kind}`]
    if (node.work.kind === 'each') {
      const { kind: _, items: list, body, ...rest } = node.work
      parts.push(`items=${list ?? JSON.stringify(items[node.key])} body=${body?.kind} ${JSON.stringify(rest)}`)
    }
    if (node.work.kind === 'child') parts.push(node.work.mode)
    const template = templateOf(node.work.kind === 'each' && node.work.body !== null ? node.work.body : node.work)
    if (template !== null) parts.push(`given=${JSON.stringify(template)}`)
    if (node.set !== undefined) parts.push(`set=${JSON.stringify(node.set)}`)
    if (node.join !== 'each') parts.push(`join=${node.join}`)
    if (node.admit !== null) parts.push(`admit=${JSON.stringify(node.admit)}`)
    if (node.undo !== null) parts.push(`undo=${JSON.stringify(node.undo.work.args)}`)
    if (node.appeal !== undefined) parts.push('appeal')
    parts.push(`onFailure=${node.onFailure} ${node.next.mode}`)
    if (node.next.scope !== null) parts.push(`scope=${JSON.stringify(node.next.scope)}`)
    for (const { to, when, args, set } of node.next.arcs) {
      parts.push(
        `→${to}${when === null ? '' : ` when ${when}`}${args ? ` args ${JSON.stringify(args)}` : ''}${set ? ` set ${JSON.stringify(set)}` : ''};`,
      )
    }
    return parts.join(' ')
  })
  return ['net:', ...lines, `  ${JSON.stringify(policy)}`]
}
