/** The text of a definition with line numbers, and what is wrong on its lines. */
import { useMemo, useRef } from 'preact/hooks'
import { CopyButton } from '../../ui/copy.tsx'
import { DownloadButton } from '../../ui/json/json.tsx'
import { linesOf, wordsOf } from './highlight.ts'
import type { LineProblem } from './problems.ts'

const MOST_LINES = 5_000

export function Source(props: {
  readonly text: string
  readonly name: string
  readonly problems?: readonly LineProblem[]
}) {
  const { text, name, problems = [] } = props
  const lines = useMemo(() => linesOf(text), [text])
  const list = useRef<HTMLOListElement>(null)
  const byLine = new Map<number, LineProblem[]>()
  for (const problem of problems) byLine.set(problem.line, [...(byLine.get(problem.line) ?? []), problem])
  return (
    <div class="source">
      <div class="row end">
        <CopyButton text={text} label="copy" />
        <DownloadButton text={text} name={name} type="text/plain" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <div class="source-view" tabIndex={0} role="region" aria-label={`Text of ${name}`}>
        <ol ref={list}>
          {lines.slice(0, MOST_LINES).map((line, i) => (
            <SourceLine key={i} line={line} problems={byLine.get(i + 1) ?? NONE} />
          ))}
        </ol>
      </div>
      {lines.length > MOST_LINES && (
        <p class="dim">
          The first {MOST_LINES} of {lines.length} lines; the download has all.
        </p>
      )}
    </div>
  )
}

const NONE: readonly LineProblem[] = []

function SourceLine({ line, problems }: { readonly line: string; readonly problems: readonly LineProblem[] }) {
  return (
    <li class={problems.length === 0 ? '' : problems.every(({ isWarning }) => isWarning) ? 'warned' : 'wrong'}>
      <code>
        {wordsOf(line).map(({ kind, text }, i) => (
          <span key={i} class={`w-${kind}`}>
            {text}
          </span>
        ))}
      </code>
      {problems.map((problem, i) => (
        <ProblemNote key={i} problem={problem} />
      ))}
    </li>
  )
}

function ProblemNote({ problem: { message, hint, isWarning } }: { readonly problem: LineProblem }) {
  return (
    <span class="line-problem">
      <span aria-hidden="true">{isWarning ? '△' : '✕'}</span> <strong>{isWarning ? 'warning' : 'mistake'}</strong>{' '}
      <bdi>{message}</bdi>
      {hint !== null && hint !== '' && (
        <>
          {' '}
          <code>{hint}</code>
        </>
      )}
    </span>
  )
}
