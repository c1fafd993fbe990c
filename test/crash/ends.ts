import type { Line } from './process.ts'

export type Ends = Readonly<Record<string, { readonly state: string; readonly result?: unknown }>>
type End = { readonly state: string; readonly result?: unknown; readonly message?: string }

/** Differences between `{ finished: wave, ends }` and the expectation, as sentences. */
export function wrongEnds(finished: Line, expected: Ends): string[] {
  const ends = finished['ends'] as Readonly<Record<string, End>>
  return Object.entries(expected).flatMap(([name, wanted]) => {
    const end = ends[name]
    const sameResult = !('result' in wanted) || JSON.stringify(end?.result) === JSON.stringify(wanted.result)
    if (end?.state === wanted.state && sameResult) return []
    return [`${finished['finished']}/${name} ended ${JSON.stringify(end)}`]
  })
}
