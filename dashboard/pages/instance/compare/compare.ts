/** Two instances of one definition, step by step. */
import type { api } from '../../../api/client.ts'

export type Marking = Awaited<ReturnType<typeof api<'GET /v1/instances/:id/marking'>>>

export interface NodeAt {
  readonly state: string
  readonly attempts: number
  /** null: it has not ended. */
  readonly tookMs: number | null
}

/** The nodes of one instance, in the order of its definition. `pages`: all pages of its marking. */
export function nodesOf(
  pages: readonly Pick<Marking, 'nodes' | 'state' | 'attempts' | 'took'>[],
): ReadonlyMap<string, NodeAt> {
  const nodes = new Map<string, NodeAt>()
  for (const { nodes: names, state, attempts, took } of pages) {
    for (const [at, name] of names.entries()) {
      const word = state.of[at]
      nodes.set(name, {
        state: word == null ? 'pending' : (state.words[word] ?? 'pending'),
        attempts: attempts[at] ?? 0,
        tookMs: took[at] ?? null,
      })
    }
  }
  return nodes
}

export type ResultsAre = 'same' | 'different' | 'only here' | 'only there' | 'none'

export interface ComparedStep {
  readonly name: string
  readonly here: NodeAt | null
  readonly there: NodeAt | null
  readonly result: ResultsAre
  /** Which parts differ, in words; empty: nothing that matters. */
  readonly differs: readonly ('state' | 'duration' | 'attempts' | 'result' | 'step')[]
}

/** A duration differs if it is this many times longer, and by more than a moment. */
const TIMES_LONGER = 2
const MOMENT_MS = 1_000

export function compared(
  here: ReadonlyMap<string, NodeAt>,
  there: ReadonlyMap<string, NodeAt>,
  results: { readonly here: ReadonlyMap<string, string>; readonly there: ReadonlyMap<string, string> },
): readonly ComparedStep[] {
  const names = [...here.keys(), ...[...there.keys()].filter((name) => !here.has(name))]
  return names.map((name) => {
    const [a, b] = [here.get(name) ?? null, there.get(name) ?? null]
    const result = resultsAre(results.here.get(name), results.there.get(name))
    return { name, here: a, there: b, result, differs: differences(a, b, result) }
  })
}

function differences(a: NodeAt | null, b: NodeAt | null, result: ResultsAre): ComparedStep['differs'] {
  if (a === null || b === null) return ['step']
  return [
    ...(a.state === b.state ? [] : (['state'] as const)),
    ...(isLonger(a.tookMs, b.tookMs) ? (['duration'] as const) : []),
    ...(a.attempts === b.attempts ? [] : (['attempts'] as const)),
    ...(result === 'same' || result === 'none' ? [] : (['result'] as const)),
  ]
}

function isLonger(a: number | null, b: number | null): boolean {
  if (a === null || b === null) return false
  const [short, long] = a < b ? [a, b] : [b, a]
  return long - short > MOMENT_MS && long > short * TIMES_LONGER
}

function resultsAre(a: string | undefined, b: string | undefined): ResultsAre {
  const [here, there] = [a ?? 'null', b ?? 'null']
  if (here === there) return here === 'null' ? 'none' : 'same'
  if (here === 'null') return 'only there'
  return there === 'null' ? 'only here' : 'different'
}
