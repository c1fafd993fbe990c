/** The progress of a bulk operation: a bar of its results, and the numbers in words. */
import { useRef } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { href } from '../../browser/router.ts'
import { now, span } from '../moments.tsx'
import { remainingMs, type Sample, settledOf, shareOf, speedOf, withSample } from './progress.ts'

export type Operation = Answer<'GET /v1/operations/:id'>['operation']

const number = (value: number): string => value.toLocaleString('en')

export function ProgressBar({ operation }: { readonly operation: Operation }) {
  const { matched, succeeded, refused, failed } = operation
  const width = (count: number): string => `${matched === 0 ? 0 : (count / matched) * 100}%`
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label="Items with a result"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(shareOf(operation) * 100)}
    >
      <span class="good" style={{ width: width(succeeded) }} />
      <span class="waiting" style={{ width: width(refused) }} />
      <span class="bad" style={{ width: width(failed) }} />
    </div>
  )
}

/** The bar with the counts as links to the items, the speed, and the time that is left. */
export function Progress({ operation }: { readonly operation: Operation }) {
  const { id, matched, pending, succeeded, refused, failed, selecting, state, rate_per_minute: rate } = operation
  const speed = useSpeed(operation)
  const left = state === 'running' ? remainingMs(operation, speed, rate) : null
  const items = (result: string): string => href(`/operations/${id}`, { state: result })
  return (
    <>
      <ProgressBar operation={operation} />
      <p class="progress-words">
        <strong>
          {number(settledOf(operation))} of {number(matched)}
          {selecting && ' so far'}
        </strong>{' '}
        · <a href={items('succeeded')}>{number(succeeded)} succeeded</a> ·{' '}
        <a href={items('refused')}>{number(refused)} refused</a> · <a href={items('failed')}>{number(failed)} failed</a>{' '}
        · <a href={items('pending')}>{number(pending)} left</a>
        {state === 'running' && (
          <>
            {' '}
            · {speed === null ? 'measuring the speed' : `${number(Math.round(speed))} a minute`}
            {rate === null ? ', no limit' : `, at most ${number(rate)}`}
            {left !== null && pending > 0 && ` · about ${span(left)} left`}
          </>
        )}
      </p>
    </>
  )
}

/** Observed while the page is open. */
function useSpeed(operation: Operation): number | null {
  const samples = useRef<readonly Sample[]>([])
  const last = samples.current.at(-1)
  const settled = settledOf(operation)
  const at = now.value
  if (last === undefined || last.settled !== settled || at - last.at >= 1000) {
    samples.current = withSample(samples.current, { at, settled })
  }
  return speedOf(samples.current)
}
