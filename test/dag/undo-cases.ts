/** Runs many trials on one store, and shows a failing one in the smallest form fast-check finds. */
import fc from 'fast-check'
import type { Implementation } from './simulated-process.ts'
import { type DagCase, dagCases, textOf } from './undo-case.ts'
import { type Clock, Trial } from './undo-trial.ts'

export interface CasesResult {
  readonly failure: string | null
  /** Trials played until the end or the first failure (not those of shrinking). */
  readonly played: number
  /** The number of trials in which each thing was seen. */
  readonly coverage: ReadonlyMap<string, number>
}

const scripts = fc.array(fc.nat(65_535), { minLength: 1, maxLength: 50, size: 'max' })

export async function runCases(
  from: Implementation,
  url: string,
  p: {
    readonly count: number
    readonly seed: number
    readonly shrink: boolean
    /** On a busy machine fewer cases are enough. */
    readonly withinMs?: number
  },
): Promise<CasesResult> {
  const store = await from.openStore(url)
  await store.migrate()
  await store.close()
  const clock: Clock = { offsetMs: 0 }
  const coverage = new Map<string, number>()
  let played = 0
  let failed = false
  let trials = 0
  const trialOf = (dag: DagCase): Trial => new Trial({ from, url, clock, dag, prefix: `t${++trials}` })
  const property = fc.asyncProperty(dagCases, scripts, async (dag, script) => {
    if (!failed) played += 1
    const trial = trialOf(dag)
    try {
      await trial.play(script)
      if (failed) return
      for (const what of trial.seen) coverage.set(what, (coverage.get(what) ?? 0) + 1)
    } catch (error) {
      failed = true
      throw error
    }
  })
  const { count: numRuns, seed, shrink, withinMs } = p
  const result = await fc.check(property, {
    numRuns,
    seed,
    endOnFailure: !shrink,
    ...(withinMs === undefined ? {} : { interruptAfterTimeLimit: withinMs }),
  })
  if (!result.failed) return { failure: null, played, coverage }
  const [dag, script] = result.counterexample as [DagCase, number[]]
  const again = trialOf(dag)
  const how = await again.play(script).then(
    () => `passed when played again; before: ${String(result.errorInstance)}`,
    (error: Error) => `${error.name}: ${error.message}\n${error.stack?.split('\n').slice(1, 6).join('\n')}`,
  )
  return { failure: [how, textOf(dag, 't'), ...again.log.map((line) => `  ${line}`)].join('\n'), played, coverage }
}
